/* check_op.c - one driver for all op tests: values, gradients, repetition, guards. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "support/support.h"

/* Number of columns before and after an input with .column in its wider projection. */
enum { COLUMN_FIRST = 3, COLUMN_REST = 2 };

/* State of one case. Doubles feed the oracle, floats the device. */
typedef struct bed {
    cla_runtime *rt;
    const op_case *c;
    int64_t size[OP_INPUTS], y_size;
    float *x[OP_INPUTS], *dy;
    double *exact[OP_INPUTS];
    cla_tensor *tensor[OP_INPUTS]; // the input, or the wide tensor that contains it
    cla_tensor *dy_tensor;
    float *y;               // last result
    float *grad[OP_INPUTS]; // last gradients
} bed;

int64_t op_size(int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        n *= shape[i];
    }
    return n;
}

static void *zeros(int64_t n, size_t size)
{
    void *p = calloc((size_t)(n ? n : 1), size);
    cr_assert_not_null(p);
    return p;
}

static int64_t wide(const op_input *in)
{
    return COLUMN_FIRST + in->shape[1] * in->shape[2] + COLUMN_REST;
}

/* Copy the packed columns into [N,C] with gaps, and back. */
static void columns_in(float *wide_rows, const float *x, const op_input *in)
{
    const int64_t row = in->shape[1] * in->shape[2];
    for (int64_t n = 0; n < in->shape[0]; n++) {
        memcpy(wide_rows + n * wide(in) + COLUMN_FIRST, x + n * row, (size_t)row * 4);
    }
}

static void columns_out(float *x, const float *wide_rows, const op_input *in)
{
    const int64_t row = in->shape[1] * in->shape[2];
    for (int64_t n = 0; n < in->shape[0]; n++) {
        memcpy(x + n * row, wide_rows + n * wide(in) + COLUMN_FIRST, (size_t)row * 4);
    }
}

/* Checks that the columns around an input have no gradient. */
static void check_gaps(const float *wide_rows, const op_input *in)
{
    const int64_t end = wide(in) - COLUMN_REST;
    for (int64_t k = 0; k < in->shape[0] * wide(in); k++) {
        const int64_t c = k % wide(in);
        cr_assert((c >= COLUMN_FIRST && c < end) || wide_rows[k] == 0,
                  "%s: column %lld around it has a gradient", in->name, (long long)c);
    }
}

static void make_input(bed *t, int i)
{
    const op_input *in = &t->c->in[i];
    t->size[i] = op_size(in->rank, in->shape);
    t->x[i] = test_random(t->size[i], in->scale == 0 ? 1 : in->scale, (uint32_t)i + 1);
    t->exact[i] = zeros(t->size[i], sizeof(double));
    t->grad[i] = zeros(t->size[i], sizeof(float));
    for (int64_t k = 0; k < t->size[i]; k++) {
        t->x[i][k] += t->c->shift[i];
        t->exact[i][k] = (double)t->x[i][k];
    }
    if (!in->column) {
        TEST_OK(cla_tensor_new(&t->tensor[i], t->rt, CLA_F32, in->rank, in->shape));
        TEST_OK(cla_tensor_upload(t->tensor[i], t->x[i]));
    } else {
        const int64_t shape[] = { in->shape[0], wide(in) };
        float *rows = zeros(shape[0] * shape[1], sizeof *rows);
        memset(rows, 0xff,
               (size_t)(shape[0] * shape[1]) * sizeof *rows); // NaN around it
        columns_in(rows, t->x[i], in);
        TEST_OK(cla_tensor_new(&t->tensor[i], t->rt, CLA_F32, 2, shape));
        TEST_OK(cla_tensor_upload(t->tensor[i], rows));
        free(rows);
    }
    cla_tensor_want_grad(t->tensor[i], !in->constant);
}

static void make(bed *t, cla_runtime *rt, const op_case *c)
{
    *t = (bed){ .rt = rt, .c = c, .y_size = op_size(c->rank, c->shape) };
    for (int i = 0; i < c->inputs; i++) {
        make_input(t, i);
    }
    t->y = zeros(t->y_size, sizeof *t->y);
    t->dy = test_random(t->y_size, 1, 100);
    TEST_OK(cla_tensor_new(&t->dy_tensor, rt, CLA_F32, c->rank, c->shape));
    TEST_OK(cla_tensor_upload(t->dy_tensor, t->dy));
}

static void fini(bed *t)
{
    for (int i = 0; i < t->c->inputs; i++) {
        free(t->x[i]);
        free(t->exact[i]);
        free(t->grad[i]);
        cla_tensor_free(&t->tensor[i]);
    }
    free(t->y);
    free(t->dy);
    cla_tensor_free(&t->dy_tensor);
}

static void read_gradient(const bed *t, int i)
{
    const op_input *in = &t->c->in[i];
    const cla_tensor *grad = cla_tensor_grad(t->tensor[i]);
    cr_assert(grad != NULL || in->constant, "%s: %s has no gradient", t->c->name,
              in->name);
    if (!grad) {
        return;
    }
    if (!in->column) {
        TEST_OK(cla_tensor_download(grad, t->grad[i]));
        return;
    }
    float *rows = zeros(cla_tensor_size(grad), sizeof *rows);
    TEST_OK(cla_tensor_download(grad, rows));
    columns_out(t->grad[i], rows, in);
    check_gaps(rows, in);
    free(rows);
}

/* Runs a training step; passes > 1 repeats it without clearing the gradients. */
static void run(bed *t, int passes)
{
    const op_case *c = t->c;
    for (int i = 0; i < c->inputs; i++) {
        cla_tensor_clear_grad(t->tensor[i]);
    }
    for (int pass = 0; pass < passes; pass++) {
        cla_tape *tape = NULL;
        cla_tensor *x[OP_INPUTS], *y = NULL;
        TEST_OK(cla_tape_new(&tape, t->rt, true));
        for (int i = 0; i < c->inputs; i++) {
            const op_input *in = &c->in[i];
            x[i] = t->tensor[i];
            if (in->column) {
                TEST_OK(cla_tensor_columns(tape, &x[i], t->tensor[i], COLUMN_FIRST,
                                           in->shape[1], in->shape[2]));
            }
        }
        TEST_OK(c->device(tape, &y, x, c->context));
        TEST_OK(cla_tape_seed(tape, y, t->dy_tensor));
        TEST_OK(cla_tape_backward(tape));
        TEST_OK(cla_memory_check_guards(t->rt));
        cr_assert_eq(cla_tensor_size(y), t->y_size, "%s: result has %lld elements",
                     c->name, (long long)cla_tensor_size(y));
        TEST_OK(cla_tensor_download(y, t->y));
        for (int i = 0; i < c->inputs; i++) {
            read_gradient(t, i);
        }
        cla_tape_free(&tape);
    }
}

/* Returns <dy, f(x)> with input i moved by step * v. */
static double objective(bed *t, int i, const float *v, double step)
{
    double *y = zeros(t->y_size, sizeof *y);
    double *moved = zeros(t->size[i], sizeof *moved), *kept = t->exact[i];
    for (int64_t k = 0; k < t->size[i]; k++) {
        moved[k] = kept[k] + step * (double)v[k];
    }
    t->exact[i] = moved;
    t->c->oracle(y, t->exact, t->c->context);
    t->exact[i] = kept;
    double sum = 0;
    for (int64_t k = 0; k < t->y_size; k++) {
        sum += (double)t->dy[k] * y[k];
    }
    free(moved);
    free(y);
    return sum;
}

/* Under medium the factors of products are rounded to bf16, each by at most 2^-9: a sum
 * of products of normal numbers by about as much of its own size. An output is made of
 * two such products, a gradient of three; inputs of all pairs sum errors. */
static double bar_of(const bed *t, double bar, double medium)
{
    return cla_runtime_precision(t->rt) == CLA_PRECISION_MEDIUM ? fmax(bar, medium)
                                                                : bar;
}

/* Checks the device gradient against the oracle's slope along a random direction. */
static void check_gradient(bed *t, int i, uint32_t direction)
{
    const double step = 1e-6;
    float *v = test_random(t->size[i], 1, 200 + (uint32_t)i + 31 * direction);
    const double want =
        (objective(t, i, v, step) - objective(t, i, v, -step)) / (2 * step);
    double got = 0, norm = 0;
    for (int64_t k = 0; k < t->size[i]; k++) {
        got += (double)t->grad[i][k] * (double)v[k];
        norm += (double)t->grad[i][k] * (double)t->grad[i][k];
    }
    /* The slope is a sum of random signs: its size is the gradient's norm. */
    const double bar =
        bar_of(t, t->c->gradient_bar > 0 ? t->c->gradient_bar : 1e-4, 1.0 / 10);
    const double error = fabs(got - want) / fmax(fmax(fabs(want), sqrt(norm)), 1e-3);
    cr_assert(error <= bar,
              "%s, gradient of %s: slope is %.9g, must be %.9g; error %.2g, bar %.2g "
              "(CLATTN_SEED=%u)",
              t->c->name, t->c->in[i].name, got, want, error, bar, test_seed());
    free(v);
}

static void copy_gradients(const bed *t, float **copy)
{
    for (int i = 0; i < t->c->inputs; i++) {
        copy[i] = zeros(t->size[i], sizeof(float));
        memcpy(copy[i], t->grad[i], (size_t)t->size[i] * sizeof(float));
    }
}

/* Checks that a second run gives the same bits, and that two passes without clearing
 * give twice the gradient. */
static void check_repetition(bed *t)
{
    float *first[OP_INPUTS];
    copy_gradients(t, first);
    float *y = zeros(t->y_size, sizeof *y);
    memcpy(y, t->y, (size_t)t->y_size * sizeof *y);
    run(t, 1);
    cr_assert(!memcmp(y, t->y, (size_t)t->y_size * sizeof *y), "%s: two runs differ",
              t->c->name);
    for (int i = 0; i < t->c->inputs; i++) {
        cr_assert(!memcmp(first[i], t->grad[i], (size_t)t->size[i] * sizeof(float)),
                  "%s: two gradients of %s differ", t->c->name, t->c->in[i].name);
    }
    run(t, 2);
    for (int i = 0; i < t->c->inputs; i++) {
        for (int64_t k = 0; k < t->size[i] && !t->c->in[i].constant; k++) {
            const double twice = 2 * (double)first[i][k];
            cr_assert(
                fabs((double)t->grad[i][k] - twice) <= 1e-5 * fmax(1, fabs(twice)),
                "%s: gradients of %s do not add: [%lld] is %g, must be %g", t->c->name,
                t->c->in[i].name, (long long)k, (double)t->grad[i][k], twice);
        }
    }
    for (int i = 0; i < t->c->inputs; i++) {
        free(first[i]);
    }
    free(y);
}

static void check_schedule(cla_runtime *rt, const op_case *c, cla_schedule schedule)
{
    op_case named = *c;
    snprintf(named.name, sizeof named.name, "%.110s (%s)", c->name,
             schedule == CLA_SCHEDULE_TILE ? "tile" : "group");
    cla_runtime_set_schedule(rt, schedule);
    bed t;
    make(&t, rt, &named);
    run(&t, 1);
    double *want = zeros(t.y_size, sizeof *want);
    c->oracle(want, t.exact, c->context);
    check_close(named.name, t.y, want, t.y_size, bar_of(&t, c->bar, 1.0 / 128));
    for (int i = 0; i < c->inputs; i++) {
        for (uint32_t direction = 0; direction < 2 && !c->in[i].constant; direction++) {
            check_gradient(&t, i, direction);
        }
    }
    check_repetition(&t);
    free(want);
    fini(&t);
    cla_runtime_set_schedule(rt, CLA_SCHEDULE_AUTO);
}

void check_op(cla_runtime *rt, const op_case *c)
{
    check_schedule(rt, c, CLA_SCHEDULE_TILE);
    check_schedule(rt, c, CLA_SCHEDULE_GROUP);
}
