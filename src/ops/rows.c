/* rows.c - stacks matrices by rows, and copies a range of rows. */
#include "clattn/rows.h"

#include <string.h>

#include "ops/columns.h"

/* Queues a copy of count rows of from, from `row` on, to to, from row `at` on. */
static cla_status copy_rows(cla_runtime *rt, const cla_tensor *to, int64_t at,
                            const cla_tensor *from, int64_t row, int64_t count, int add)
{
    const int64_t D = from->shape[1];
    const columns_shape part = { (int32_t)count,    (int32_t)D, CLA_COLUMNS_RUN,
                                 (int32_t)(at * D), (int32_t)D, (int32_t)(row * D),
                                 (int32_t)D };
    return cla_copy_columns(rt, to, from, &part, add);
}

/* Fails from 2^31 numbers on: kernels index with int. */
static cla_status check_size(const char *op, int64_t rows, int64_t columns)
{
    return rows * columns <= INT32_MAX
               ? CLA_OK
               : cla_fail(CLA_E_SHAPE, "%s: [%lld,%lld] has 2^31 numbers or more", op,
                          (long long)rows, (long long)columns);
}

/* ---- stack ---------------------------------------------------------------------- */

typedef struct saved_stack {
    cla_tensor *y;
    int64_t n;
    cla_tensor *part[]; // [n]
} saved_stack;

static cla_status stack_backward(cla_tape *tape, void *bytes)
{
    const saved_stack *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    int64_t at = 0;
    for (int64_t i = 0; i < s->n && dy; i++) {
        cla_tensor *dx = NULL;
        const int64_t rows = s->part[i]->shape[0];
        int add = 0;
        CLA_TRY(cla_grad_out(tape, s->part[i], &dx, &add));
        CLA_TRY(dx ? copy_rows(cla_tape_runtime(tape), dx, 0, dy, at, rows, add)
                   : CLA_OK);
        at += rows;
    }
    return CLA_OK;
}

static cla_status check_parts(cla_tensor *const *x, int64_t n, int64_t *rows)
{
    *rows = 0;
    if (n < 1) {
        return cla_fail(CLA_E_USAGE, "stack: no matrix");
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t columns = i ? x[0]->shape[1] : -1;
        CLA_TRY(cla_check_shape("stack", "x", x[i], CLA_F32, 2,
                                (int64_t[]){ -1, columns }));
        *rows += x[i]->shape[0];
    }
    return check_size("stack", *rows, x[0]->shape[1]);
}

static cla_status record_stack(cla_tape *tape, cla_tensor *y, cla_tensor *const *x,
                               int64_t n)
{
    const size_t size = sizeof(saved_stack) + (size_t)n * sizeof(cla_tensor *);
    saved_stack *s = NULL;
    CLA_TRY(cla_alloc(&s, 1, size));
    s->y = y;
    s->n = n;
    memcpy(s->part, x, (size_t)n * sizeof *x);
    const cla_status status = cla_tape_record(tape, stack_backward, s, size,
                                              (cla_tensor *[CLA_RESULTS]){ y });
    free(s);
    return status;
}

cla_status cla_stack(cla_tape *tape, cla_tensor **y, cla_tensor *const *x, int64_t n)
{
    CLA_OP(tape, y, x);
    cla_tensor *out = NULL;
    int64_t rows = 0, at = 0;
    for (int64_t i = 0; i < n; i++) {
        CLA_MAY(tape, x[i]);
    }
    CLA_TRY(check_parts(x, n, &rows));
    CLA_TRY(
        cla_tape_tensor(tape, &out, CLA_F32, 2, (int64_t[]){ rows, x[0]->shape[1] }));
    for (int64_t i = 0; i < n; i++) {
        CLA_TRY(copy_rows(cla_tape_runtime(tape), out, at, x[i], 0, x[i]->shape[0], 0));
        at += x[i]->shape[0];
    }
    for (int64_t i = 0; i < n; i++) {
        out->wants_grad = cla_tape_needs_grad(tape, 1, &x[i]) || out->wants_grad;
    }
    CLA_TRY(out->wants_grad ? record_stack(tape, out, x, n) : CLA_OK);
    *y = out;
    return CLA_OK;
}

/* ---- slice ---------------------------------------------------------------------- */

typedef struct saved_slice {
    cla_tensor *y, *x;
    int64_t first;
} saved_slice;

static cla_status slice_backward(cla_tape *tape, void *bytes)
{
    const saved_slice *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    if (!dx) {
        return CLA_OK;
    }
    CLA_TRY(add ? CLA_OK : cla_tensor_fill(dx, 0)); // others may get gradients later
    return copy_rows(cla_tape_runtime(tape), dx, s->first, dy, 0, dy->shape[0], 1);
}

cla_status cla_slice(cla_tape *tape, cla_tensor **y, cla_tensor *x, int64_t first,
                     int64_t count)
{
    CLA_OP(tape, y, x);
    cla_tensor *out = NULL;
    CLA_TRY(cla_check_shape("slice", "x", x, CLA_F32, 2, (int64_t[]){ -1, -1 }));
    CLA_TRY(check_size("slice", x->shape[0], x->shape[1]));
    if (first < 0 || count < 0 || first + count > x->shape[0]) {
        return cla_fail(CLA_E_SHAPE, "slice: x is %s, rows %lld to %lld are asked for",
                        cla_shape_text(x), (long long)first,
                        (long long)(first + count - 1));
    }
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, 2, (int64_t[]){ count, x->shape[1] }));
    CLA_TRY(copy_rows(cla_tape_runtime(tape), out, 0, x, first, count, 0));
    const saved_slice s = { out, x, first };
    const cla_note end = { slice_backward, &s, sizeof s, { x } };
    return cla_tape_give(tape, y, out, &end);
}
