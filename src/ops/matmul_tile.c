/* matmul_tile.c - queues products under the tile schedule, and packs weights. */
#include "cl/matmul_tile_args.h"
#include "ops/matmul.h"
#include "ops/spread.h"

enum { CHUNK = 16 }; // as in cl/matmul_pack.clh

typedef struct tile_plan {
    int vec, mr, tile_n, touch;
    matmul_cut cut;
    cla_item_cut items;
    size_t local_bytes;
} tile_plan;

static int64_t round_up(int64_t n, int64_t to)
{
    return cla_pieces(n, to) * to;
}

/* Returns the packed rows of up to `rows` rows of a, as in cl/matmul_pack.clh. */
static int64_t packed_rows(int64_t mr, int64_t rows)
{
    return round_up(rows, 4) + (mr % 4 ? 4 : 0);
}

/* Returns the cut of the inner index. It fixes the order of the sums, so it depends on
 * K, device and tuning only: any cut of rows and columns gives the same bits. */
static int64_t choose_depth(cla_runtime *rt, const tile_plan *plan, int64_t K,
                            int64_t local_floats)
{
    enum { FEWEST_ROWS = 48 };
    int64_t depth = round_up(cla_tuned(rt, "matmul_tile", "DEPTH", 256), CHUNK);
    while (depth > CHUNK && (FEWEST_ROWS + plan->tile_n) * depth > local_floats) {
        depth = round_up(depth / 2, CHUNK);
    }
    const int64_t blocks = K ? cla_pieces(K, depth) : 1;
    return round_up(K ? cla_pieces(K, blocks) : 1, CHUNK);
}

cla_item_cut cla_product_cut(cla_runtime *rt, const cla_product *p,
                             const cla_item_rule *rule)
{
    enum { ITEMS_OF_CORE = 4 };
    const int cores = cla_runtime_device(rt)->compute_units;
    const int64_t all = cla_pieces(p->N, rule->columns);
    int64_t down = cla_pieces(p->M, rule->rows);
    int64_t across = cla_pieces(all, rule->panels);
    for (;;) {
        const int64_t rows = round_up(cla_pieces(p->M, down), rule->step);
        const int64_t panels = cla_pieces(all, across);
        const int64_t columns = panels * rule->columns;
        const bool cuts = down * across * p->batch < (int64_t)ITEMS_OF_CORE * cores &&
                          rows * columns * p->K > rule->worth;
        if (cuts && rows > rule->least && rows >= columns) {
            down *= 2;
        } else if (cuts && panels > 1) {
            across *= 2;
        } else {
            return (cla_item_cut){ rows, panels, cla_pieces(p->M, rows),
                                   cla_pieces(all, panels) };
        }
    }
}

/* Returns the register tile: vector width, rows and columns. */
static tile_plan register_tile(cla_runtime *rt)
{
    tile_plan plan = { .vec = cla_vector_width(rt),
                       .touch = cla_runtime_device(rt)->kind == CLA_DEVICE_CPU };
    plan.mr = cla_tuned(rt, "matmul_tile", "MR", plan.vec == 16 ? 12 : 6);
    plan.tile_n = 2 * plan.vec;
    return plan;
}

static tile_plan make_plan(cla_runtime *rt, const cla_product *p)
{
    const cla_device *device = cla_runtime_device(rt);
    tile_plan plan = register_tile(rt);
    const int64_t local_floats = (int64_t)(device->local_bytes / 4);
    const int64_t depth = choose_depth(rt, &plan, p->K, local_floats);
    int64_t rows = cla_tuned(rt, "matmul_tile", "ROWS", 128);
    while (rows > plan.mr &&
           (packed_rows(plan.mr, rows) + plan.tile_n) * depth > local_floats) {
        rows -= plan.mr;
    }
    const int64_t columns = cla_tuned(rt, "matmul_tile", "COLUMNS", 512);
    const cla_item_rule rule = { .rows = rows,
                                 .panels = cla_pieces(columns, plan.tile_n),
                                 .least = 2 * (int64_t)plan.mr,
                                 .worth = 1 << 16,
                                 .step = 4,
                                 .columns = plan.tile_n };
    plan.items = cla_product_cut(rt, p, &rule);
    plan.cut = (matmul_cut){ (int32_t)plan.items.rows, (int32_t)plan.items.panels,
                             (int32_t)depth };
    plan.local_bytes =
        (size_t)((packed_rows(plan.mr, plan.cut.rows) + plan.tile_n) * depth) * 4;
    return plan;
}

/* ---- packed weights ---------------------------------------------------------- */

static cla_status pack(cla_runtime *rt, const cla_product *p, const tile_plan *plan,
                       const cla_memory *packed)
{
    matmul_shape shape = cla_product_shape_of(p);
    shape.y_offset = 0; // of the panels
    const cla_launch launch = {
        .file = "matmul_tile",
        .kernel = "matmul_pack",
        .define = { { "VEC", plan->vec },
                    { "MR", plan->mr },
                    { "PACKED", 1 },
                    { "TOUCH", plan->touch },
                    cla_weights_define(cla_product_stored(p)) },
        .groups = { (size_t)cla_pieces(p->K, plan->cut.depth),
                    (size_t)cla_pieces(p->N, plan->tile_n) },
        .args = { cla_mem(packed), cla_product_b(p), cla_bytes(&shape, sizeof shape),
                  cla_i32(plan->cut.depth) },
        .flops = (double)p->K * (double)p->N,
    };
    return cla_enqueue(rt, &launch);
}

static size_t packed_bytes(const cla_product *p, const tile_plan *plan)
{
    const size_t width = cla_product_stored(p) ? cla_width(p->weights->dtype) : 4;
    return (size_t)(round_up(p->N, plan->tile_n) * p->K) * width;
}

cla_panels cla_panels_of(cla_runtime *rt)
{
    const tile_plan plan = register_tile(rt);
    return (cla_panels){
        plan.mr,
        plan.tile_n,
        { { "VEC", plan.vec }, { "MR", plan.mr }, { "TOUCH", plan.touch } },
    };
}

int64_t cla_panels_rows(const cla_panels *panels, int64_t rows)
{
    return packed_rows(panels->rows, rows);
}

size_t cla_panels_bytes(const cla_panels *panels, int64_t K, int64_t N)
{
    return (size_t)(round_up(N, panels->columns) * K) * 4;
}

cla_status cla_panels_pack(cla_runtime *rt, const cla_product *p,
                           const cla_memory *packed)
{
    tile_plan plan = register_tile(rt);
    plan.cut.depth = (int32_t)round_up(p->K, CHUNK);
    return p->K && p->N ? pack(rt, p, &plan, packed) : CLA_OK;
}

/* Returns whether the product reads the weights also as they are. */
static bool reads_twice(const cla_product *p)
{
    const cla_order *order = &p->weights->turned.order;
    return p->a.memory->order == order ||
           (p->residual.memory && p->residual.memory->order == order);
}

/* Gives the weights in panels, packed once for each version of the tensor. The first
 * product of a version does not pack for few rows: there may be no second one. */
static cla_status pack_weights(cla_runtime *rt, const cla_product *p,
                               const tile_plan *plan, const cla_memory **out)
{
    enum { MANY_ROWS = 256 };
    cla_form *form = &p->weights->form[p->transpose_b];
    const bool once = !reads_twice(p);
    *out = once ? cla_turned_panels(p->weights, p->transpose_b, p->K) : NULL;
    if (*out) {
        return CLA_OK;
    }
    if (form->parts) { // made under another precision
        cla_memory_free(&form->memory, rt);
        *form = (cla_form){ 0 };
    }
    if (form->memory.mem && form->size != p->K * p->N) {
        return CLA_OK; // the form holds other rows
    }
    if (form->version != p->weights->version) {
        const bool again = form->asked == p->weights->version;
        form->asked = p->weights->version;
        if (!again && p->M < MANY_ROWS) {
            return CLA_OK;
        }
        if (p->infers && once && p->K * p->N == cla_size(p->weights)) {
            CLA_TRY(cla_turn(rt, p->weights, p->transpose_b, p->K));
            *out = cla_turned_panels(p->weights, p->transpose_b, p->K);
        }
        if (*out) {
            return CLA_OK;
        }
        if (!form->memory.mem &&
            cla_memory_new(&form->memory, rt, packed_bytes(p, plan)) != CLA_OK) {
            return CLA_OK; // no room for a second form
        }
        form->size = p->K * p->N;
        CLA_TRY(pack(rt, p, plan, &form->memory));
        form->version = p->weights->version;
    }
    *out = &form->memory;
    return CLA_OK;
}

/* Gives b in panels if that pays: those kept for weights or, for tall products, panels
 * that all items share. To pack these costs about as much as six blocks of rows that
 * pack for themselves, fewer if b must be transposed. NULL: each item packs its own. */
static cla_status packed_b(cla_runtime *rt, const cla_product *p, const tile_plan *plan,
                           const cla_memory **out)
{
    enum { LARGEST = 1 << 27 };
    *out = NULL;
    if (p->batch > 1 || !p->K) {
        return CLA_OK;
    }
    if (cla_product_keeps(p)) {
        CLA_TRY(pack_weights(rt, p, plan, out));
    }
    const size_t bytes = packed_bytes(p, plan);
    const int64_t tall = (p->transpose_b ? 2 : 6) * (int64_t)plan->cut.rows;
    cla_memory *scratch = NULL;
    if (*out || p->M < tall || bytes > LARGEST) {
        return CLA_OK;
    }
    if (cla_product_scratch(rt, bytes, &scratch) == CLA_OK) {
        CLA_TRY(pack(rt, p, plan, scratch));
        *out = scratch;
    }
    return CLA_OK;
}

cla_status cla_product_tile(cla_runtime *rt, const cla_product *p)
{
    const tile_plan plan = make_plan(rt, p);
    const matmul_shape shape = cla_product_shape_of(p);
    const cla_memory *packed = NULL;
    CLA_TRY(packed_b(rt, p, &plan, &packed));
    const cla_launch launch = {
        .file = "matmul_tile",
        .kernel = "matmul_tile",
        .define = { { "VEC", plan.vec },
                    { "MR", plan.mr },
                    { "PACKED", packed != NULL },
                    { "TOUCH", plan.touch },
                    cla_weights_define(cla_product_stored(p)) },
        .groups = { (size_t)plan.items.down, (size_t)plan.items.across,
                    (size_t)p->batch },
        .args = { cla_product_y(p), cla_product_a(p),
                  packed ? cla_mem(packed) : cla_product_b(p), cla_mem(p->bias),
                  cla_product_residual(p), cla_mem(cla_product_scale(p)),
                  cla_bytes(&shape, sizeof shape),
                  cla_bytes(&plan.cut, sizeof plan.cut), cla_local(plan.local_bytes) },
        .flops = 2.0 * (double)p->M * (double)p->N * (double)p->K * (double)p->batch,
    };
    return cla_enqueue(rt, &launch);
}
