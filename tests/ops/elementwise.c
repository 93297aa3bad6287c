/* elementwise.c - sums, products, gates, columns side by side and scaled heads against
 * their oracles. */
#include <stdio.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

typedef struct sizes {
    int N, a, b; // columns of two parts, or heads and their width
    bool column;
} sizes;

/* One or two operations an element: a rounding each. */
static const double BAR = 2e-7;

/* ---- add ------------------------------------------------------------------------ */

static cla_status device_add(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *c)
{
    (void)c;
    return cla_add(tape, y, x[0], x[1]);
}

static void oracle_add(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    for (int64_t i = 0; i < (int64_t)c->N * c->a; i++) {
        y[i] = x[0][i] + x[1][i];
    }
}

Test(elementwise, add)
{
    sizes cases[] = { { .N = 1, .a = 1 },    { .N = 7, .a = 9 },   { .N = 3, .a = 64 },
                      { .N = 64, .a = 64 },  { .N = 65, .a = 63 }, { .N = 0, .a = 3 },
                      { .N = 91, .a = 191 }, { .N = 2, .a = 0 } };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sizes *c = &cases[i];
        if (test_small() && c->N * c->a > 4096) {
            continue;
        }
        op_case op = {
            .in = { { "a", 2, { c->N, c->a } }, { "b", 2, { c->N, c->a } } },
            .inputs = 2,
            .rank = 2,
            .shape = { c->N, c->a },
            .device = device_add,
            .oracle = oracle_add,
            .context = c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "add N%d D%d", c->N, c->a);
        check_op(rt, &op);
    }
    cla_runtime_free(&rt);
}

/* A tensor added to itself has its gradient twice. */
Test(elementwise, add_to_itself)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *x = NULL, *y = NULL;
    cla_tape *tape = NULL;
    float got[3];
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tensor_upload(x, (float[]){ 1, 2, 3 }));
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_OK(cla_add(tape, &y, x, x));
    TEST_OK(cla_tape_seed(tape, y, NULL));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(x), got));
    check_close("add to itself", got, (double[]){ 2, 2, 2 }, 3, 0);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
}

/* ---- multiply ------------------------------------------------------------------- */

static cla_status device_multiply(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                                  void *c)
{
    (void)c;
    return cla_multiply(tape, y, x[0], x[1]);
}

static void multiply_by_oracle(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    oracle_multiply(y, x[0], x[1], c->N * c->a);
}

Test(elementwise, multiply)
{
    sizes cases[] = { { .N = 1, .a = 1 },   { .N = 7, .a = 9 },    { .N = 64, .a = 1 },
                      { .N = 65, .a = 63 }, { .N = 91, .a = 191 }, { .N = 0, .a = 3 } };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sizes *c = &cases[i];
        if ((test_small() && c->N * c->a > 4096) ||
            (test_tiny() && c->N * c->a > 100)) {
            continue;
        }
        op_case op = {
            .in = { { "a", 2, { c->N, c->a } }, { "b", 2, { c->N, c->a } } },
            .inputs = 2,
            .rank = 2,
            .shape = { c->N, c->a },
            .device = device_multiply,
            .oracle = multiply_by_oracle,
            .context = c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "multiply N%d D%d", c->N, c->a);
        check_op(rt, &op);
    }
    cla_runtime_free(&rt);
}

/* The gradient of a square: 2 x dy. */
Test(elementwise, multiply_by_itself)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *x = NULL, *y = NULL;
    cla_tape *tape = NULL;
    float got[3];
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tensor_upload(x, (float[]){ 1, -2, 3 }));
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_OK(cla_multiply(tape, &y, x, x));
    TEST_OK(cla_tensor_download(y, got));
    check_close("squares", got, (double[]){ 1, 4, 9 }, 3, 0);
    TEST_OK(cla_tape_seed(tape, y, NULL));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(x), got));
    check_close("gradient of squares", got, (double[]){ 2, -4, 6 }, 3, 0);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
}

/* ---- gate ----------------------------------------------------------------------- */

static cla_status device_gate(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *c)
{
    (void)c;
    return cla_gate(tape, y, x[0], x[1], x[2]);
}

static void gate_by_oracle(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    oracle_gate(y, x[0], x[1], x[2], c->N * c->a);
}

/* Inputs near 30 saturate the gate. Four roundings and an exponential's. */
Test(elementwise, gate)
{
    sizes cases[] = {
        { .N = 1, .a = 1 }, { .N = 7, .a = 9 }, { .N = 65, .a = 63 }, { .N = 0, .a = 3 }
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sizes *c = &cases[i];
        if (test_tiny() && c->N * c->a > 100) {
            continue;
        }
        op_case op = {
            .in = { { "x", 2, { c->N, c->a }, .scale = i == 1 ? 30 : 1 },
                    { "a", 2, { c->N, c->a } },
                    { "b", 2, { c->N, c->a } } },
            .inputs = 3,
            .rank = 2,
            .shape = { c->N, c->a },
            .device = device_gate,
            .oracle = gate_by_oracle,
            .context = c,
            .bar = 1e-6,
        };
        snprintf(op.name, sizeof op.name, "gate N%d D%d", c->N, c->a);
        check_op(rt, &op);
    }
    cla_runtime_free(&rt);
}

/* ---- concat --------------------------------------------------------------------- */

static cla_status device_concat(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *c)
{
    (void)c;
    return cla_concat(tape, y, x[0], x[1]);
}

static void concat_by_oracle(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    oracle_concat(y, x[0], x[1], c->N, c->a, c->b);
}

Test(elementwise, concat)
{
    sizes cases[] = { { .N = 1, .a = 1, .b = 1 },    { .N = 5, .a = 3, .b = 8 },
                      { .N = 8, .a = 128, .b = 64 }, { .N = 9, .a = 65, .b = 63 },
                      { .N = 0, .a = 3, .b = 4 },    { .N = 3, .a = 0, .b = 4 },
                      { .N = 33, .a = 129, .b = 1 } };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sizes *c = &cases[i];
        op_case op = {
            .in = { { "a", 2, { c->N, c->a } }, { "b", 2, { c->N, c->b } } },
            .inputs = 2,
            .rank = 2,
            .shape = { c->N, c->a + c->b },
            .device = device_concat,
            .oracle = concat_by_oracle,
            .context = c,
            .bar = 0, // copies
        };
        snprintf(op.name, sizeof op.name, "concat N%d %d+%d", c->N, c->a, c->b);
        check_op(rt, &op);
    }
    cla_runtime_free(&rt);
}

/* ---- scaled heads --------------------------------------------------------------- */

static cla_status device_heads(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *c)
{
    (void)c;
    return cla_scale_heads(tape, y, x[0], x[1]);
}

static void heads_by_oracle(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    oracle_scale_heads(y, x[0], x[1], c->N, c->a, c->b);
}

Test(elementwise, scale_heads)
{
    sizes cases[] = {
        { .N = 1, .a = 1, .b = 1 },    { .N = 7, .a = 3, .b = 24, .column = true },
        { .N = 9, .a = 4, .b = 48 },   { .N = 16, .a = 2, .b = 91, .column = true },
        { .N = 61, .a = 1, .b = 130 }, { .N = 0, .a = 2, .b = 8 },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sizes *c = &cases[i];
        op_case op = {
            .in = { { "x", 3, { c->N, c->a, c->b }, .column = c->column },
                    { "gamma", 1, { c->a } } },
            .inputs = 2,
            .rank = 3,
            .shape = { c->N, c->a, c->b },
            .device = device_heads,
            .oracle = heads_by_oracle,
            .context = c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "scale_heads N%d H%d d%d", c->N, c->a, c->b);
        check_op(rt, &op);
    }
    cla_runtime_free(&rt);
}

Test(elementwise, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *a = NULL, *b = NULL, *x = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&a, rt, CLA_F32, 2, (int64_t[]){ 4, 6 }));
    TEST_OK(cla_tensor_new(&b, rt, CLA_F32, 2, (int64_t[]){ 5, 6 }));
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 3, (int64_t[]){ 4, 2, 3 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_add(tape, &y, a, b), CLA_E_SHAPE, "b is [5,6], must be [4,6]");
    TEST_FAILS(cla_add(tape, &y, NULL, b), CLA_E_SHAPE, "a is missing");
    TEST_FAILS(cla_multiply(tape, &y, a, b), CLA_E_SHAPE, "b is [5,6], must be [4,6]");
    TEST_FAILS(cla_multiply(tape, &y, NULL, b), CLA_E_SHAPE, "a is missing");
    TEST_FAILS(cla_gate(tape, &y, a, a, b), CLA_E_SHAPE, "b is [5,6], must be [4,6]");
    TEST_FAILS(cla_gate(tape, &y, a, NULL, a), CLA_E_SHAPE, "a is missing");
    TEST_FAILS(cla_concat(tape, &y, a, b), CLA_E_SHAPE, "b is [5,6], must be [4,*]");
    TEST_FAILS(cla_concat(tape, &y, x, b), CLA_E_SHAPE, "a is [4,2,3]");
    TEST_FAILS(cla_scale_heads(tape, &y, a, b), CLA_E_SHAPE, "must be f32 [N,H,d]");
    TEST_FAILS(cla_scale_heads(tape, &y, x, a), CLA_E_SHAPE, "gamma is [4,6]");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_tensor_free(&b);
    cla_tensor_free(&a);
    cla_runtime_free(&rt);
}
