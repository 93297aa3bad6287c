/* matmul.c - the matrix product as an operator: shapes, recording, gradients. */
#include "ops/matmul.h"

typedef struct saved {
    cla_tensor *a, *b, *y;
    bool transpose_a, transpose_b;
} saved;

/* Return the rows and columns of a tensor's matrices, and the number of matrices. */
static int64_t rows_of(const cla_tensor *t)
{
    return t->shape[t->rank - 2];
}

static int64_t cols_of(const cla_tensor *t)
{
    return t->shape[t->rank - 1];
}

static int64_t batch_of(const cla_tensor *t)
{
    return t->rank == 3 ? t->shape[0] : 1;
}

static cla_matrix matrix_of(const cla_tensor *t)
{
    return (cla_matrix){ .memory = &t->memory,
                         .ld = cols_of(t),
                         .stride = t->rank == 3 ? rows_of(t) * cols_of(t) : 0 };
}

static cla_status check_rank(const char *name, const cla_tensor *t)
{
    const int rank = t && t->rank == 3 ? 3 : 2;
    return cla_check_shape("matmul", name, t, CLA_F32, rank, (int64_t[]){ -1, -1, -1 });
}

static cla_status check(const cla_tensor *a, const cla_tensor *b, bool ta, bool tb)
{
    CLA_TRY(check_rank("a", a));
    CLA_TRY(check_rank("b", b));
    const int64_t ka = ta ? rows_of(a) : cols_of(a), kb = tb ? cols_of(b) : rows_of(b);
    if (ka != kb) {
        return cla_fail(CLA_E_SHAPE, "matmul: a is %s%s, b is %s%s: inner sizes differ",
                        cla_shape_text(a), ta ? " transposed" : "", cla_shape_text(b),
                        tb ? " transposed" : "");
    }
    if (b->rank == 3 && (a->rank != 3 || a->shape[0] != b->shape[0])) {
        return cla_fail(CLA_E_SHAPE, "matmul: a is %s, b is %s: batches differ",
                        cla_shape_text(a), cla_shape_text(b));
    }
    return CLA_OK;
}

/* Queues d op(a) = dy op(b)', stored as a is. */
static cla_status backward_a(cla_tape *tape, const saved *s, const cla_tensor *dy)
{
    cla_tensor *da = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->a, &da, &add));
    if (!da || !cla_size(da)) {
        return CLA_OK;
    }
    const bool ta = s->transpose_a, tb = s->transpose_b;
    const cla_product p = {
        .M = rows_of(s->a),
        .N = cols_of(s->a),
        .K = cols_of(s->y),
        .batch = batch_of(s->a),
        .transpose_a = ta && tb,
        .transpose_b = ta || !tb,
        .a = matrix_of(ta ? s->b : dy),
        .b = matrix_of(ta ? dy : s->b),
        .y = matrix_of(da),
        .add = add,
        .weights = ta ? NULL : s->b,
    };
    return cla_product_run(cla_tape_runtime(tape), &p);
}

/* Returns the product d op(b) = op(a)' dy, stored as b is. */
static cla_product product_b(const saved *s, const cla_tensor *dy)
{
    const bool ta = s->transpose_a, tb = s->transpose_b;
    return (cla_product){
        .M = rows_of(s->b),
        .N = cols_of(s->b),
        .K = rows_of(s->y),
        .batch = batch_of(s->b),
        .transpose_a = tb || !ta,
        .transpose_b = ta && tb,
        .a = matrix_of(tb ? dy : s->a),
        .b = matrix_of(tb ? s->a : dy),
    };
}

/* Queues the gradient of b. If the batch shares b, this is a sum over the batch: one
 * product with a long inner index unless a is transposed, then one for each member. */
static cla_status backward_b(cla_tape *tape, const saved *s, const cla_tensor *dy)
{
    cla_tensor *db = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->b, &db, &add));
    if (!db || !cla_size(db)) {
        return CLA_OK;
    }
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_product p = product_b(s, dy);
    p.y = matrix_of(db);
    p.add = add;
    const int64_t summed = s->b->rank == 2 ? batch_of(s->a) : 1;
    if (!s->transpose_a || summed == 1) {
        p.K *= summed;
        return cla_product_run(rt, &p);
    }
    if (!summed) {
        p.K = 0;
        return cla_product_run(rt, &p);
    }
    for (int64_t member = 0; member < summed; member++) {
        CLA_TRY(cla_product_run(rt, &p));
        p.a.offset += p.a.stride;
        p.b.offset += p.b.stride;
        p.add = true;
    }
    return CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    CLA_TRY(backward_a(tape, s, dy));
    return backward_b(tape, s, dy);
}

cla_status cla_matmul(cla_tape *tape, cla_tensor **y, cla_tensor *a, cla_tensor *b,
                      bool transpose_a, bool transpose_b)
{
    CLA_OP(tape, y, a, b);
    CLA_TRY(check(a, b, transpose_a, transpose_b));
    const int64_t M = transpose_a ? cols_of(a) : rows_of(a);
    const int64_t N = transpose_b ? rows_of(b) : cols_of(b);
    const int64_t shape[] = { batch_of(a), M, N };
    cla_tensor *out = NULL;
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, a->rank, shape + 3 - a->rank));
    const cla_product p = {
        .M = M,
        .N = N,
        .K = transpose_a ? rows_of(a) : cols_of(a),
        .batch = batch_of(a),
        .transpose_a = transpose_a,
        .transpose_b = transpose_b,
        .a = matrix_of(a),
        .b = matrix_of(b),
        .y = matrix_of(out),
        .weights = b,
        .infers = !cla_tape_training(tape),
    };
    if (cla_size(out)) {
        CLA_TRY(cla_product_run(cla_tape_runtime(tape), &p));
    }
    const saved s = { a, b, out, transpose_a, transpose_b };
    const cla_note end = { backward, &s, sizeof s, { a, b } };
    return cla_tape_give(tape, y, out, &end);
}
