/* rows.c - rows put together and taken out against their definitions. */
#include <stdio.h>
#include <string.h>

#include "support/support.h"

enum { PARTS = 3 };

typedef struct sizes {
    int rows[PARTS], D;
    int first, count; // of a slice of the first part
} sizes;

static const sizes cases[] = {
    { { 1, 1, 1 }, 1, 0, 1 },     { { 3, 0, 5 }, 7, 1, 2 },    { { 0, 2, 0 }, 9, 0, 0 },
    { { 9, 17, 8 }, 33, 8, 1 },   { { 64, 1, 9 }, 64, 0, 64 }, { { 2, 3, 4 }, 0, 1, 1 },
    { { 40, 7, 3 }, 150, 39, 1 },
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- stack ---------------------------------------------------------------------- */

static cla_status device_stack(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *c)
{
    (void)c;
    return cla_stack(tape, y, x, PARTS);
}

static void oracle_stack(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    for (int i = 0; i < PARTS; i++) {
        memcpy(y, x[i], sizeof *y * (size_t)(c->rows[i] * c->D));
        y += c->rows[i] * c->D;
    }
}

DEVICE_TEST(rows, stack)
{
    for (int i = 0; i < CASES; i++) {
        sizes c = cases[i];
        op_case op = {
            .inputs = PARTS,
            .rank = 2,
            .shape = { c.rows[0] + c.rows[1] + c.rows[2], c.D },
            .device = device_stack,
            .oracle = oracle_stack,
            .context = &c,
            .bar = 1e-7, // the inputs' own rounding
        };
        for (int k = 0; k < PARTS; k++) {
            op.in[k] =
                (op_input){ .name = "x", .rank = 2, .shape = { c.rows[k], c.D } };
        }
        snprintf(op.name, sizeof op.name, "stack %d, %d, %d rows D%d", c.rows[0],
                 c.rows[1], c.rows[2], c.D);
        check_op(rt, &op);
    }
}

/* ---- slice ---------------------------------------------------------------------- */

static cla_status device_slice(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *v)
{
    const sizes *c = v;
    return cla_slice(tape, y, x[0], c->first, c->count);
}

static void oracle_slice(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    memcpy(y, x[0] + c->first * c->D, sizeof *y * (size_t)(c->count * c->D));
}

DEVICE_TEST(rows, slice)
{
    for (int i = 0; i < CASES; i++) {
        sizes c = cases[i];
        op_case op = {
            .in = { { "x", 2, { c.rows[0], c.D } } },
            .inputs = 1,
            .rank = 2,
            .shape = { c.count, c.D },
            .device = device_slice,
            .oracle = oracle_slice,
            .context = &c,
            .bar = 1e-7,
        };
        snprintf(op.name, sizeof op.name, "slice %d to %d of %d D%d", c.first,
                 c.first + c.count, c.rows[0], c.D);
        check_op(rt, &op);
    }
}

/* All slices stacked are the whole, in both directions; one taken twice has its
 * gradient twice. */
DEVICE_TEST(rows, slices_stack_to_the_whole)
{
    enum { N = 5, D = 3 };
    cla_tensor *x = NULL, *y = NULL, *part[N + 1];
    cla_tape *tape = NULL;
    float *host = test_random(N * D, 1, 0), got[(N + 1) * D];
    double want[(N + 1) * D], gradient[N * D];
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ N, D }));
    TEST_OK(cla_tensor_upload(x, host));
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_tape_new(&tape, rt, true));
    for (int i = 0; i <= N; i++) {
        TEST_OK(cla_slice(tape, &part[i], x, i % N, 1));
    }
    TEST_OK(cla_stack(tape, &y, part, N + 1));
    TEST_OK(cla_tape_seed(tape, y, NULL));
    TEST_OK(cla_tape_backward(tape));
    for (int i = 0; i < (N + 1) * D; i++) {
        want[i] = (double)host[i % (N * D)];
        gradient[i % (N * D)] = i % (N * D) < D ? 2 : 1;
    }
    TEST_OK(cla_tensor_download(y, got));
    check_close("slices stacked", got, want, (int64_t)(N + 1) * D, 0);
    TEST_OK(cla_tensor_download(cla_tensor_grad(x), got));
    check_close("their gradient", got, gradient, (int64_t)N * D, 0);
    free(host);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
}

DEVICE_TEST(rows, refuses)
{
    cla_tensor *x = NULL, *narrow = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 4, 3 }));
    TEST_OK(cla_tensor_new(&narrow, rt, CLA_F32, 2, (int64_t[]){ 4, 2 }));
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_FAILS(cla_slice(tape, &y, x, 2, 3), CLA_E_SHAPE, "rows 2 to 4 are asked for");
    TEST_FAILS(cla_slice(tape, &y, x, -1, 2), CLA_E_SHAPE, "rows -1 to 0");
    TEST_FAILS(cla_stack(tape, &y, (cla_tensor *[]){ x, narrow }, 2), CLA_E_SHAPE,
               "x is [4,2]");
    TEST_FAILS(cla_stack(tape, &y, &x, 0), CLA_E_USAGE, "no matrix");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&narrow);
    cla_tensor_free(&x);
}
