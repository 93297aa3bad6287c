/* matmul_bytes.c - queues products of weights of 8 bits with rows that are rounded to 8
 * bits, and chooses what multiplies them. */
#include "cl/bytes_args.h"
#include "cl/matmul_tile_args.h"
#include "ops/matmul.h"
#include "ops/spread.h"

enum { GROUP_ITEMS = 128 }; // WG of cl/matmul_bytes_group.cl
enum { ROWS = 32 };         // of a block of sums (cl/bytes.clh)

/* Back ends, as the define BYTES of cl/bytes.clh. */
typedef enum byte_unit { PLAIN, DOT, TILES } byte_unit;
static const char *const NAMES[] = { "none", "vnni", "amx" };

/* ---- panels ---------------------------------------------------------------------- */

size_t cla_bytes_panels_size(int64_t K, int64_t N)
{
    return (size_t)(cla_pieces(K, BYTES_STEP) * cla_pieces(N, BYTES_PANEL)) * 2 *
           BYTES_FRAGMENT;
}

cla_status cla_bytes_pack(cla_runtime *rt, const matmul_shape *shape, bool back,
                          const cla_memory *to, const cla_memory *from)
{
    enum { DEPTH = 512 };
    const cla_launch launch = {
        .file = "matmul_bytes",
        .kernel = back ? "matmul_bytes_unpack" : "matmul_bytes_pack",
        .define = { { "VEC", cla_vector_width(rt) } },
        .groups = { (size_t)cla_pieces(shape->K, DEPTH),
                    (size_t)cla_pieces(shape->N, BYTES_PANEL) },
        .args = { cla_mem(to), cla_mem(from), cla_bytes(shape, sizeof *shape),
                  cla_i32(DEPTH) },
        .flops = (double)shape->K * (double)shape->N,
    };
    return cla_enqueue(rt, &launch);
}

/* Gives the weights in panels: turned in their own memory, or beside it if that cannot
 * be. */
static cla_status panels_of(cla_runtime *rt, const cla_product *p,
                            const cla_memory **out)
{
    cla_tensor *w = p->weights;
    *out = cla_turned_panels(w, p->transpose_b, p->K);
    if (!*out) {
        CLA_TRY(cla_turn(rt, w, p->transpose_b, p->K));
        *out = cla_turned_panels(w, p->transpose_b, p->K);
    }
    if (*out) {
        return CLA_OK;
    }
    cla_form *form = &w->form[p->transpose_b];
    if (!form->memory.mem) {
        CLA_TRY(cla_memory_new(&form->memory, rt, cla_bytes_panels_size(p->K, p->N)));
    }
    if (form->version != w->version) {
        matmul_shape shape = cla_product_shape_of(p);
        shape.y_offset = 0; // of the panels
        CLA_TRY(cla_bytes_pack(rt, &shape, false, &form->memory, &w->memory));
        form->version = w->version;
    }
    *out = &form->memory;
    return CLA_OK;
}

/* ---- the product ----------------------------------------------------------------- */

typedef struct bytes_plan {
    int64_t rows, panels; // of an item
    size_t local_bytes;
} bytes_plan;

/* Cuts the result into items. Each of them rounds its rows itself, so that it should
 * have many columns: more the faster a unit is. Any cut gives the same bits. */
static void cut_items(const cla_product *p, byte_unit unit, int cores, bytes_plan *plan)
{
    enum { ITEMS_OF_CORE = 4, FEW_ROWS = 4 * BYTES_BLOCK, WORTH = 1 << 19 };
    static const int64_t least[] = { 64, 256, 2048 }; // columns
    const int64_t panels = cla_pieces(p->N, BYTES_PANEL);
    int64_t down = cla_pieces(p->M, plan->rows), across = 1;
    for (;;) {
        const int64_t rows = cla_pieces(p->M, down);
        plan->rows = down > 1 ? cla_pieces(rows, ROWS) * ROWS : p->M;
        plan->panels = cla_pieces(panels, across);
        const int64_t columns = plan->panels * BYTES_PANEL, items = down * across;
        if (items >= (int64_t)ITEMS_OF_CORE * cores ||
            plan->rows * columns * p->K <= WORTH) {
            return;
        }
        if (plan->rows > FEW_ROWS && plan->rows >= columns) {
            down *= 2;
        } else if (plan->panels > 1 && (items < cores || columns >= 2 * least[unit])) {
            across *= 2;
        } else {
            return;
        }
    }
}

static cla_status make_plan(cla_runtime *rt, const cla_product *p, byte_unit unit,
                            bytes_plan *plan)
{
    const cla_device *device = cla_runtime_device(rt);
    assert(p->K > 0);
    const size_t deep = (size_t)cla_pieces(p->K, BYTES_STEP) * BYTES_STEP;
    const size_t block = deep * BYTES_BLOCK * (unit == PLAIN ? sizeof(float) : 1);
    const int64_t most = (int64_t)(device->local_bytes / block) * BYTES_BLOCK;
    if (!most) {
        return cla_fail(CLA_E_SHAPE,
                        "linear: %lld inputs are too many for products of 8 bits on "
                        "'%s'",
                        (long long)p->K, device->name);
    }
    plan->rows = most < BYTES_ROWS ? most : BYTES_ROWS;
    cut_items(p, unit, device->compute_units, plan);
    plan->rows = plan->rows < most ? plan->rows : most;
    const int64_t held = plan->rows < p->M ? plan->rows : p->M;
    plan->local_bytes = (size_t)cla_pieces(held, BYTES_BLOCK) * block;
    return CLA_OK;
}

static cla_status multiply(cla_runtime *rt, const cla_product *p, byte_unit unit,
                           const cla_memory *panels, const cla_memory *scale)
{
    bytes_plan plan = { 0 };
    CLA_TRY(make_plan(rt, p, unit, &plan));
    assert(plan.rows > 0 && plan.panels > 0);
    const matmul_cut cut = { (int32_t)plan.rows, (int32_t)plan.panels, 0 };
    const matmul_shape shape = cla_product_shape_of(p);
    const cla_launch launch = {
        .file = "matmul_bytes",
        .kernel = "matmul_bytes",
        .define = { { "VEC", cla_vector_width(rt) }, { "BYTES", (int)unit } },
        .groups = { (size_t)cla_pieces(p->M, plan.rows),
                    (size_t)cla_pieces(p->N, plan.panels * BYTES_PANEL) },
        .args = { cla_product_y(p), cla_product_a(p), cla_mem(panels), cla_mem(p->bias),
                  cla_product_residual(p), cla_mem(scale),
                  cla_bytes(&shape, sizeof shape), cla_bytes(&cut, sizeof cut),
                  cla_local(plan.local_bytes) },
        .flops = 2.0 * (double)p->M * (double)p->N * (double)p->K,
    };
    return cla_enqueue(rt, &launch);
}

/* ---- the unit -------------------------------------------------------------------- */

enum { M = 37, N = 72, K = 136 }; // no whole fragments

/* Return numbers of the test: each row of a has 127, so that its scale is 1. */
static int left_of(int i)
{
    return i % K ? i * 7 % 255 - 127 : 127;
}
static int right_of(int i)
{
    return i * 11 % 255 - 127;
}

/* Writes the matrices of the test: a, b, a scale of 1 for each column, y. */
static cla_status write_test(cla_runtime *rt, cla_memory memory[5])
{
    float a[M * K], one[N];
    int8_t b[K * N];
    for (int i = 0; i < M * K; i++) {
        a[i] = (float)left_of(i);
    }
    for (int i = 0; i < K * N; i++) {
        b[i] = (int8_t)right_of(i);
        one[i % N] = 1;
    }
    const size_t bytes[] = { sizeof a, sizeof b, sizeof one, (size_t)M * N * 4,
                             cla_bytes_panels_size(K, N) };
    const void *const from[] = { a, b, one };
    for (int i = 0; i < 5; i++) {
        CLA_TRY(cla_memory_new(&memory[i], rt, bytes[i]));
        CLA_TRY(i < 3 ? cla_memory_write(rt, &memory[i], 0, from[i], bytes[i])
                      : cla_memory_fill(rt, &memory[i], 0));
    }
    return CLA_OK;
}

/* Multiplies whole numbers, whose sums are exact. *right: as they must be. */
static cla_status compare(cla_runtime *rt, byte_unit unit, cla_memory memory[5],
                          bool *right)
{
    const cla_product p = {
        .M = M,
        .N = N,
        .K = K,
        .batch = 1,
        .a = { .memory = &memory[0], .ld = K },
        .b = { .memory = &memory[1], .ld = N },
        .y = { .memory = &memory[3], .ld = N },
    };
    float y[M * N];
    CLA_TRY(write_test(rt, memory));
    const matmul_shape shape = cla_product_shape_of(&p);
    CLA_TRY(cla_bytes_pack(rt, &shape, false, &memory[4], &memory[1]));
    CLA_TRY(multiply(rt, &p, unit, &memory[4], &memory[2]));
    CLA_TRY(cla_memory_read(rt, &memory[3], 0, y, sizeof y));
    *right = true;
    for (int i = 0; i < M * N; i++) {
        int sum = 0;
        for (int k = 0; k < K; k++) {
            sum += left_of(i / N * K + k) * right_of(k * N + i % N);
        }
        *right = *right && y[i] == (float)sum;
    }
    return CLA_OK;
}

/* Tests a unit: *right. */
static cla_status test_unit(cla_runtime *rt, byte_unit unit, bool *right)
{
    cla_memory memory[5] = { { 0 } };
    *right = false;
    const cla_status status = compare(rt, unit, memory, right);
    for (int i = 0; i < 5; i++) {
        cla_memory_free(&memory[i], rt);
    }
    return cla_unit_judge(rt, "linear", NAMES[unit], status, *right);
}

/* Whether a runtime has each unit, and its products are right. */
typedef struct bytes_state {
    bool tested, has[TILES + 1];
} bytes_state;

static cla_status tested_state(cla_runtime *rt, const bytes_state **out)
{
    static const char key;
    bytes_state *state = NULL;
    CLA_TRY(cla_runtime_state(rt, &key, sizeof *state, NULL, &state));
    if (!state->tested) {
        const bool offered[] = { true, cla_unit_dots(rt), cla_unit_tiles_bytes(rt) };
        for (int i = PLAIN; i <= TILES; i++) {
            state->has[i] = offered[i];
            if (i != PLAIN && offered[i] && !cla_runtime_records(rt)) {
                CLA_TRY(test_unit(rt, (byte_unit)i, &state->has[i]));
            }
        }
        state->tested = true;
    }
    *out = state;
    return CLA_OK;
}

static cla_status multiply_tiles(cla_runtime *rt, const cla_product *p)
{
    const bytes_state *state = NULL;
    const cla_memory *panels = NULL;
    CLA_TRY(tested_state(rt, &state));
    CLA_TRY(panels_of(rt, p, &panels));
    // tiles are the fastest even for one row
    const byte_unit unit = state->has[TILES] ? TILES : state->has[DOT] ? DOT : PLAIN;
    return multiply(rt, p, unit, panels, cla_product_scale(p));
}

/* ---- the group schedule ---------------------------------------------------------- */

/* Rounds the rows of a; q and scales are parts of scratch memory. */
static cla_status round_rows(cla_runtime *rt, const cla_product *p,
                             const matmul_shape *shape, cla_define dots,
                             cla_memory out[2])
{
    const size_t align = cla_memory_align(rt);
    const size_t quads = (size_t)(p->M * cla_pieces(p->K, 4)) * 4;
    const size_t at = (quads + align - 1) / align * align;
    cla_memory *scratch = NULL;
    CLA_TRY(cla_product_scratch(rt, at + (size_t)p->M * sizeof(float), &scratch));
    CLA_TRY(cla_memory_part(&out[0], rt, scratch, 0, quads));
    CLA_TRY(cla_memory_part(&out[1], rt, scratch, at, (size_t)p->M * sizeof(float)));
    const cla_launch launch = {
        .file = "matmul_bytes_group",
        .kernel = "matmul_bytes_rows",
        .define = { dots },
        .groups = { (size_t)p->M },
        .local = { GROUP_ITEMS },
        .args = { cla_mem(&out[0]), cla_mem(&out[1]), cla_product_a(p),
                  cla_bytes(shape, sizeof *shape) },
        .flops = 4.0 * (double)p->M * (double)p->K,
    };
    return cla_enqueue(rt, &launch);
}

static cla_status multiply_groups(cla_runtime *rt, const cla_product *p)
{
    enum { FEW = 8, COLUMNS = 16, HIGH = 32, WIDE = 64 };
    const matmul_shape shape = cla_product_shape_of(p);
    const bool few = p->M <= FEW;
    const int64_t groups = few ? cla_pieces(p->N, COLUMNS)
                               : cla_pieces(p->M, HIGH) * cla_pieces(p->N, WIDE);
    const bool dp4a = cla_unit_offered(rt) == CLA_UNIT_MMA && !cla_unit_is_emulated(rt);
    const cla_define dots = { dp4a ? "DOTS" : NULL, 1 };
    cla_memory rows[2] = { { 0 } };
    cla_status status = round_rows(rt, p, &shape, dots, rows);
    const cla_launch launch = {
        .file = "matmul_bytes_group",
        .kernel = few ? "matmul_bytes_few" : "matmul_bytes_group",
        .define = { dots },
        .groups = { (size_t)groups },
        .local = { GROUP_ITEMS },
        .args = { cla_product_y(p), cla_mem(&rows[0]), cla_mem(&rows[1]),
                  cla_product_b(p), cla_mem(p->bias), cla_product_residual(p),
                  cla_mem(cla_product_scale(p)), cla_bytes(&shape, sizeof shape) },
        .flops = 2.0 * (double)p->M * (double)p->N * (double)p->K,
    };
    status = status ? status : cla_enqueue(rt, &launch);
    cla_memory_free(&rows[0], rt);
    cla_memory_free(&rows[1], rt);
    return status;
}

cla_status cla_product_bytes(cla_runtime *rt, const cla_product *p)
{
    return cla_tiled(rt) ? multiply_tiles(rt, p) : multiply_groups(rt, p);
}
