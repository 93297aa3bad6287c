/* matmul_unit.c - queues products of numbers that are rounded to bf16, for a matrix
 * unit or without one, under the tile schedule; under the other one matmul_group.c
 * does. */
#include "cl/matmul_tile_args.h"
#include "ops/matmul.h"
#include "ops/spread.h"

enum { SIDE = 16, DEPTH = 32, PANEL = 32, FRAGMENT_BYTES = 1024 }; // cl/unit.clh

static int64_t steps_of(int64_t K)
{
    return cla_pieces(K, DEPTH);
}

/* Returns the parts of bf16 that stand for a number. */
static int parts_of(const cla_runtime *rt)
{
    return cla_runtime_precision(rt) == CLA_PRECISION_HIGH ? 3 : 1;
}

/* ---- panels of b ----------------------------------------------------------------- */

static size_t panels_bytes(const cla_product *p, int parts)
{
    const int64_t members = p->b.stride ? p->batch : 1;
    return (size_t)(members * cla_pieces(p->N, PANEL) * steps_of(p->K) * 2 * parts) *
           FRAGMENT_BYTES;
}

static cla_status pack(cla_runtime *rt, const cla_product *p,
                       const cla_unit_state *state, const cla_memory *panels)
{
    enum { STEPS = 16 };
    const matmul_shape shape = cla_product_shape_of(p);
    const cla_launch launch = {
        .file = "matmul_unit",
        .kernel = "matmul_unit_pack",
        .define = { { "VEC", cla_vector_width(rt) },
                    { "UNIT", (int)state->unit },
                    { "CONVERTS", state->converts },
                    { "PARTS", parts_of(rt) } },
        .groups = { (size_t)cla_pieces(steps_of(p->K), STEPS),
                    (size_t)cla_pieces(p->N, PANEL),
                    p->b.stride ? (size_t)p->batch : 1 },
        .args = { cla_mem(panels), cla_product_b(p), cla_bytes(&shape, sizeof shape),
                  cla_i32(STEPS) },
        .flops = 8.0 * (double)p->K * (double)p->N,
    };
    return cla_enqueue(rt, &launch);
}

/* Gives the panels of weights, made once for each version of the tensor. */
static cla_status weight_panels(cla_runtime *rt, const cla_product *p,
                                const cla_unit_state *state, const cla_memory **out)
{
    cla_form *form = &p->weights->form[p->transpose_b];
    const int parts = parts_of(rt);
    if (form->parts != parts || form->memory.bytes < panels_bytes(p, parts)) {
        cla_memory_free(&form->memory, rt);
        *form = (cla_form){ .parts = parts };
        CLA_TRY(cla_memory_new(&form->memory, rt, panels_bytes(p, parts)));
    }
    if (form->version != p->weights->version) {
        CLA_TRY(pack(rt, p, state, &form->memory));
        form->version = p->weights->version;
        form->size = p->K * p->N;
    }
    *out = &form->memory;
    return CLA_OK;
}

static cla_status panels_of_b(cla_runtime *rt, const cla_product *p,
                              const cla_unit_state *state, const cla_memory **out)
{
    if (cla_product_keeps(p) && p->K * p->N == cla_size(p->weights)) {
        return weight_panels(rt, p, state, out);
    }
    cla_memory *scratch = NULL;
    CLA_TRY(cla_product_scratch(rt, panels_bytes(p, parts_of(rt)), &scratch));
    *out = scratch;
    return pack(rt, p, state, scratch);
}

/* ---- the product ----------------------------------------------------------------- */

typedef struct unit_plan {
    cla_item_cut items;
    int64_t depth;
    size_t local_bytes;
} unit_plan;

/* Any plan gives the same bits. */
static unit_plan make_plan(cla_runtime *rt, const cla_product *p)
{
    enum { BLOCK = 2 * SIDE };
    const int64_t room = (int64_t)cla_runtime_device(rt)->local_bytes / 2;
    const int64_t parts = parts_of(rt);
    int64_t depth = cla_tuned(rt, "matmul_unit", "DEPTH", 1024) / parts;
    int64_t rows = cla_tuned(rt, "matmul_unit", "ROWS", 256);
    depth = cla_pieces(p->K < depth ? p->K : depth, DEPTH) * DEPTH;
    while (rows > BLOCK && rows * depth * 2 * parts > room) {
        rows = cla_pieces(rows / 2, BLOCK) * BLOCK;
    }
    while (depth > DEPTH && rows * depth * 2 * parts > room) {
        depth = cla_pieces(depth / 2, DEPTH) * DEPTH;
    }
    const cla_item_rule rule = { .rows = rows,
                                 .panels = cla_pieces(p->N, PANEL),
                                 .least = (int64_t)2 * BLOCK,
                                 .worth = 1 << 20,
                                 .step = BLOCK,
                                 .columns = PANEL };
    const cla_item_cut items = cla_product_cut(rt, p, &rule);
    return (unit_plan){ items, depth, (size_t)(items.rows * depth * 2 * parts) };
}

cla_status cla_product_fragments(cla_runtime *rt, const cla_product *p,
                                 const cla_unit_state *state)
{
    const unit_plan plan = make_plan(rt, p);
    const matmul_cut cut = { (int32_t)plan.items.rows, (int32_t)plan.items.panels,
                             (int32_t)plan.depth };
    const matmul_shape shape = cla_product_shape_of(p);
    const cla_memory *panels = NULL;
    CLA_TRY(panels_of_b(rt, p, state, &panels));
    const cla_launch launch = {
        .file = "matmul_unit",
        .kernel = "matmul_unit",
        .define = { { "VEC", cla_vector_width(rt) },
                    { "UNIT", (int)state->unit },
                    { "CONVERTS", state->converts },
                    { "PARTS", parts_of(rt) } },
        .groups = { (size_t)plan.items.down, (size_t)plan.items.across,
                    (size_t)p->batch },
        .args = { cla_product_y(p), cla_product_a(p), cla_mem(panels), cla_mem(p->bias),
                  cla_product_residual(p), cla_bytes(&shape, sizeof shape),
                  cla_bytes(&cut, sizeof cut), cla_local(plan.local_bytes) },
        .flops = 2.0 * (double)p->M * (double)p->N * (double)p->K * (double)p->batch,
    };
    return cla_enqueue(rt, &launch);
}

cla_status cla_product_unit(cla_runtime *rt, const cla_product *p, bool *done)
{
    enum { FEW_ROWS = 64 };
    const cla_precision precision = cla_runtime_precision(rt);
    const bool group = cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP;
    *done = false;
    if (precision == CLA_PRECISION_HIGHEST || !p->K || cla_product_stored(p) ||
        (group && precision != CLA_PRECISION_MEDIUM)) {
        return CLA_OK;
    }
    const cla_unit_state *state = NULL;
    CLA_TRY(cla_unit_tested(rt, &state));
    // six products cost more than one in float32 without a unit, or for few rows
    const bool slow = state->unit == CLA_UNIT_NONE || p->M < FEW_ROWS;
    if (precision == CLA_PRECISION_HIGH && slow &&
        cla_unit_asked(rt) != CLA_UNIT_WITHOUT) {
        return CLA_OK;
    }
    *done = true;
    return group ? cla_product_group(rt, p, state)
                 : cla_product_fragments(rt, p, state);
}
