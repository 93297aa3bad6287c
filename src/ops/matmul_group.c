/* matmul_group.c - queues products under the group schedule, cut into tiles. */
#include <string.h>

#include "cl/matmul_vector_args.h"
#include "ops/matmul.h"
#include "ops/spread.h"

static bool is_wide_matrix(const cla_matrix *m)
{
    return !m->memory || (m->offset % 4 == 0 && m->ld % 4 == 0 && m->stride % 4 == 0);
}

/* Returns whether the kernel can read and write 16 bytes at a time. */
static bool is_wide(const cla_product *p)
{
    return p->N % 4 == 0 && (!p->transpose_a || p->M % 4 == 0) &&
           is_wide_matrix(&p->a) && is_wide_matrix(&p->b) && is_wide_matrix(&p->y) &&
           is_wide_matrix(&p->residual);
}

/* Returns the define of the numbers that are multiplied: weights as they are stored, or
 * floats, rounded if the precision asks for it. */
static cla_define numbers(const cla_runtime *rt, const cla_product *p)
{
    return !cla_product_stored(p) && cla_runtime_precision(rt) == CLA_PRECISION_MEDIUM
               ? (cla_define){ "BF16", 1 }
               : cla_weights_define(cla_product_stored(p));
}

/* ---- one row or one column ------------------------------------------------------- */

/* Return the arguments of y' = op(b)' a' for one row, and those for one column. */
static vector_args args_of_row(const cla_product *p)
{
    const int32_t a_ld = (int32_t)p->a.ld, b_ld = (int32_t)p->b.ld;
    return (vector_args){ (int32_t)p->N,
                          1,
                          1,
                          1,
                          p->transpose_a ? a_ld : 1,
                          p->transpose_b ? b_ld : 1,
                          p->transpose_b ? 1 : b_ld };
}

static vector_args args_of_column(const cla_product *p)
{
    const int32_t a_ld = (int32_t)p->a.ld, b_ld = (int32_t)p->b.ld;
    return (vector_args){ (int32_t)p->M,
                          (int32_t)p->y.ld,
                          0,
                          (int32_t)p->residual.ld,
                          p->transpose_b ? 1 : b_ld,
                          p->transpose_a ? 1 : a_ld,
                          p->transpose_a ? a_ld : 1 };
}

/* Returns whether there is one row or column, of sums that are long enough to be split
 * over the items of a group. */
static bool is_vector(const cla_product *p)
{
    enum { LEAST = 64 };
    const bool row = p->M == 1, column = p->N == 1 && !cla_product_stored(p);
    return (row || column) && p->K >= LEAST;
}

static cla_status product_vector(cla_runtime *rt, const cla_product *p)
{
    enum { WG = 256, ALONG_COLUMNS = 4, ACROSS_COLUMNS = 16 };
    const bool row = p->M == 1;
    const vector_args args = row ? args_of_row(p) : args_of_column(p);
    const bool along = args.inner == 1;
    const int columns = along ? ALONG_COLUMNS : ACROSS_COLUMNS;
    const cla_matrix *m = row ? &p->b : &p->a, *x = row ? &p->a : &p->b;
    matmul_shape shape = cla_product_shape_of(p);
    shape.a_offset = (int32_t)m->offset;
    shape.a_stride = (int32_t)m->stride;
    shape.b_offset = (int32_t)x->offset;
    shape.b_stride = (int32_t)x->stride;
    const cla_launch launch = {
        .file = "matmul_vector",
        .kernel = "matmul_vector",
        .define = { { "ALONG", along }, numbers(rt, p) },
        .groups = { (size_t)(cla_pieces(args.results, columns) * p->batch) },
        .local = { WG },
        .args = { cla_mem(p->y.memory), cla_mem(m->memory), cla_mem(x->memory),
                  cla_mem(p->bias), cla_mem(p->residual.memory),
                  cla_mem(cla_product_scale(p)), cla_bytes(&shape, sizeof shape),
                  cla_bytes(&args, sizeof args) },
        .flops = 2.0 * (double)p->M * (double)p->N * (double)p->K * (double)p->batch,
    };
    return cla_enqueue(rt, &launch);
}

/* ---- tiles --------------------------------------------------------------------- */

/* Sets file, kernel, defines and group size for a device without a matrix unit. */
static void use_blocks(cla_runtime *rt, const cla_product *p, const cla_group_tile *t,
                       cla_launch *launch)
{
    const cla_define defines[] = {
        { "DOWN", t->down },
        { "ACROSS", t->across },
        { "QM", t->blocks_down },
        { "QN", t->blocks_across },
        { "TA", p->transpose_a },
        { "TB", p->transpose_b },
        { "WIDE", is_wide(p) },
        { "UNROLL", cla_tuned(rt, "matmul_group", "UNROLL", 4) },
        numbers(rt, p),
    };
    launch->file = "matmul";
    launch->kernel = "matmul_group";
    memcpy(launch->define, defines, sizeof defines);
    launch->local[0] = (size_t)t->down * (size_t)t->across;
    launch->args[5] = cla_mem(cla_product_scale(p));
}

/* Sets them for a unit. */
static void use_unit(const cla_product *p, const cla_group_tile *t,
                     const cla_unit_state *unit, cla_launch *launch)
{
    enum { LARGE = 64 };
    const int rows = cla_group_tile_rows(t);
    const cla_define defines[] = {
        { "UNIT", (int)unit->unit },
        { "EMULATED", unit->emulated },
        { "TM", rows },
        { "TN", cla_group_tile_columns(t) },
        { "TA", p->transpose_a },
        { "TB", p->transpose_b },
        { "WIDE", is_wide(p) },
    };
    launch->file = "matmul_unit_group";
    launch->kernel = "matmul_unit_group";
    launch->option = cla_unit_option(unit);
    memcpy(launch->define, defines, sizeof defines);
    launch->local[0] = rows > LARGE ? 256 : 128;
}

static bool has_unit(const cla_unit_state *unit)
{
    return unit && unit->unit != CLA_UNIT_NONE;
}

/* Queues a product that is cut into tiles. part: inner indices of a member of the batch
 * if those are parts of one sum, else 0. */
static cla_status product_tiles(cla_runtime *rt, const cla_product *p,
                                const cla_group_plan *plan, int64_t part,
                                const cla_unit_state *unit)
{
    matmul_shape shape = cla_product_shape_of(p);
    shape.part = (int32_t)part;
    cla_launch launch = {
        .groups = { (size_t)(plan->groups * plan->parts) },
        .args = { cla_product_y(p), cla_product_a(p), cla_product_b(p),
                  cla_mem(p->bias), cla_product_residual(p) },
        .flops = 2.0 * (double)p->M * (double)p->N * (double)p->K *
                 (double)(part ? 1 : p->batch),
    };
    if (has_unit(unit)) {
        use_unit(p, &plan->tile, unit, &launch);
        launch.args[5] = cla_bytes(&shape, sizeof shape);
    } else {
        use_blocks(rt, p, &plan->tile, &launch);
        launch.args[6] = cla_bytes(&shape, sizeof shape);
    }
    return cla_enqueue(rt, &launch);
}

/* Queues the sum of the parts and the product's tail. */
static cla_status sum_parts(cla_runtime *rt, const cla_product *p,
                            const cla_memory *partial, int64_t parts)
{
    const matmul_shape shape = cla_product_shape_of(p);
    const cla_launch launch = {
        .file = "matmul_sum",
        .kernel = "matmul_sum",
        .groups = { (size_t)cla_pieces(p->M * p->N, SUM_RESULTS) },
        .local = { (size_t)SUM_RESULTS * SUM_SLICES },
        .args = { cla_product_y(p),
                  cla_mem_some(partial, (size_t)(parts * p->M * p->N) * 4),
                  cla_mem(p->bias), cla_product_residual(p),
                  cla_bytes(&shape, sizeof shape), cla_i32(parts) },
        .flops = (double)parts * (double)p->M * (double)p->N,
    };
    return cla_enqueue(rt, &launch);
}

/* Queues a product in parts of the inner index, as a batch whose members are summed. */
static cla_status product_parts(cla_runtime *rt, const cla_product *p,
                                const cla_group_plan *plan, const cla_unit_state *unit)
{
    const int64_t depth = plan->depth, size = p->M * p->N;
    cla_memory *partial = NULL;
    CLA_TRY(cla_product_scratch(rt, (size_t)(plan->parts * size) * 4, &partial));
    const cla_product parts = {
        .M = p->M,
        .N = p->N,
        .K = p->K,
        .batch = plan->parts,
        .transpose_a = p->transpose_a,
        .transpose_b = p->transpose_b,
        .a = { p->a.memory, p->a.offset, p->a.ld,
               p->transpose_a ? depth * p->a.ld : depth },
        .b = { p->b.memory, p->b.offset, p->b.ld,
               p->transpose_b ? depth : depth * p->b.ld },
        .y = { partial, 0, p->N, size },
    };
    CLA_TRY(product_tiles(rt, &parts, plan, depth, unit));
    return sum_parts(rt, p, partial, plan->parts);
}

cla_status cla_product_group(cla_runtime *rt, const cla_product *p,
                             const cla_unit_state *unit)
{
    if (is_vector(p)) {
        return product_vector(rt, p);
    }
    const cla_group_plan plan = cla_product_plan(rt, p, has_unit(unit));
    return plan.parts > 1 ? product_parts(rt, p, &plan, unit)
                          : product_tiles(rt, p, &plan, 0, unit);
}
