/* matmul_group.c - queues products under the group schedule, cut into tiles. */
#include "cl/matmul_vector_args.h"
#include "ops/matmul.h"

/* Work-items of a group and 4 x 4 blocks of an item, as the defines of cl/matmul.cl. */
typedef struct group_tile {
    int down, across, blocks_down, blocks_across;
} group_tile;

static const group_tile LARGE = { 16, 16, 2, 2 }; // 128 x 128
static const group_tile MEDIUM = { 8, 8, 2, 2 };  // 64 x 64
static const group_tile SMALL = { 8, 8, 1, 1 };   // 32 x 32
static const group_tile NARROW = { 4, 16, 1, 1 }; // 16 x 64

static int64_t pieces(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

static int64_t groups_of(const cla_product *p, const group_tile *t)
{
    const int rows = 4 * t->down * t->blocks_down;
    const int columns = 4 * t->across * t->blocks_across;
    return pieces(p->M, rows) * pieces(p->N, columns) * p->batch;
}

/* Returns the largest tile that leaves every compute unit ITEMS work-items, else SMALL;
 * NARROW for few rows. Larger tiles read each operand less often. The tile does not
 * change the order of the sums. */
static const group_tile *choose_tile(cla_runtime *rt, const cla_product *p)
{
    const int side = cla_tuned(rt, "matmul_group", "SIDE", 128);
    const int64_t items = (int64_t)cla_tuned(rt, "matmul_group", "ITEMS", 512) *
                          cla_runtime_device(rt)->compute_units;
    if (p->M <= 16) {
        return &NARROW;
    }
    if (side >= 128 && 256 * groups_of(p, &LARGE) >= items) {
        return &LARGE;
    }
    return side >= 64 && 64 * groups_of(p, &MEDIUM) >= items ? &MEDIUM : &SMALL;
}

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
        .define = { { "ALONG", along }, cla_weights_define(cla_product_stored(p)) },
        .groups = { (size_t)(pieces(args.results, columns) * p->batch) },
        .local = { WG },
        .args = { cla_mem(p->y.memory), cla_mem(m->memory), cla_mem(x->memory),
                  cla_mem(p->bias), cla_mem(p->residual.memory),
                  cla_mem(cla_product_scale(p)), cla_bytes(&shape, sizeof shape),
                  cla_bytes(&args, sizeof args) },
        .flops = 2.0 * (double)p->M * (double)p->N * (double)p->K * (double)p->batch,
    };
    return cla_enqueue(rt, &launch);
}

cla_status cla_product_group(cla_runtime *rt, const cla_product *p)
{
    if (is_vector(p)) {
        return product_vector(rt, p);
    }
    const matmul_shape shape = cla_product_shape_of(p);
    const group_tile *t = choose_tile(rt, p);
    const cla_launch launch = {
        .file = "matmul",
        .kernel = "matmul_group",
        .define = { { "DOWN", t->down },
                    { "ACROSS", t->across },
                    { "QM", t->blocks_down },
                    { "QN", t->blocks_across },
                    { "TA", p->transpose_a },
                    { "TB", p->transpose_b },
                    { "WIDE", is_wide(p) },
                    { "UNROLL", cla_tuned(rt, "matmul_group", "UNROLL", 4) },
                    cla_weights_define(cla_product_stored(p)) },
        .groups = { (size_t)groups_of(p, t) },
        .local = { (size_t)(t->down * t->across) },
        .args = { cla_product_y(p), cla_product_a(p), cla_product_b(p),
                  cla_mem(p->bias), cla_product_residual(p),
                  cla_mem(cla_product_scale(p)), cla_bytes(&shape, sizeof shape) },
        .flops = 2.0 * (double)p->M * (double)p->N * (double)p->K * (double)p->batch,
    };
    return cla_enqueue(rt, &launch);
}
