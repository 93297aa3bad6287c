/* layer_norm.c - device against oracle: values, gradients, refusals. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

typedef struct sizes {
    int N, D;
} sizes;

static const float EPS = 1e-6f;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_layer_norm(tape, y, x[0], x[1], x[2], EPS);
}

static void oracle(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    oracle_layer_norm(y, x[0], x[1], x[2], c->N, c->D, (double)EPS);
}

/* Mean and variance err by about eps sqrt(D) / D of |x|, with D = 1 the worst; then
 * five roundings. */
static const double BAR = 2e-6;

Test(layer_norm, matches_oracle_and_gradient)
{
    sizes cases[] = { { 4, 3 },   { 5, 7 },    { 1, 63 },  { 9, 64 },   { 8, 65 },
                      { 33, 72 }, { 40, 192 }, { 7, 129 }, { 2, 1031 }, { 0, 4 } };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sizes *c = &cases[i];
        if (test_small() && c->D > 500) {
            continue;
        }
        op_case op = {
            .in = { { "x", 2, { c->N, c->D }, .scale = 2 },
                    { "gamma", 1, { c->D } },
                    { "beta", 1, { c->D } } },
            .inputs = 3,
            .rank = 2,
            .shape = { c->N, c->D },
            .device = device,
            .oracle = oracle,
            .context = c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "layer_norm N%d D%d", c->N, c->D);
        check_op(rt, &op);
    }
    cla_runtime_free(&rt);
}

/* A row far from zero keeps its small differences: the variance is about the mean. */
Test(layer_norm, survives_an_offset)
{
    cla_runtime *rt = test_runtime();
    const float x[] = { 10000, 10001, 10002, 10003 };
    double exact[4], want[4];
    const double one[] = { 1, 1, 1, 1 }, zero[] = { 0, 0, 0, 0 };
    for (int i = 0; i < 4; i++) {
        exact[i] = (double)x[i];
    }
    oracle_layer_norm(want, exact, one, zero, 1, 4, (double)EPS);
    cla_tensor *in = NULL, *gamma = NULL, *beta = NULL, *y = NULL;
    cla_tape *tape = NULL;
    float got[4];
    TEST_OK(cla_tensor_new(&in, rt, CLA_F32, 2, (int64_t[]){ 1, 4 }));
    TEST_OK(cla_tensor_new(&gamma, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&beta, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_upload(in, x));
    TEST_OK(cla_tensor_fill(gamma, 1));
    TEST_OK(cla_tensor_fill(beta, 0));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_layer_norm(tape, &y, in, gamma, beta, EPS));
    TEST_OK(cla_tensor_download(y, got));
    check_close("offset", got, want, 4, BAR);
    cla_tape_free(&tape);
    cla_tensor_free(&beta);
    cla_tensor_free(&gamma);
    cla_tensor_free(&in);
    cla_runtime_free(&rt);
}

Test(layer_norm, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *x = NULL, *three = NULL, *four = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tensor_new(&three, rt, CLA_F32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tensor_new(&four, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_layer_norm(tape, &y, three, three, three, EPS), CLA_E_SHAPE,
               "x is [3], must be [*,*]");
    TEST_FAILS(cla_layer_norm(tape, &y, x, four, three, EPS), CLA_E_SHAPE,
               "gamma is [4], must be [3]");
    TEST_FAILS(cla_layer_norm(tape, &y, x, three, four, EPS), CLA_E_SHAPE,
               "beta is [4], must be [3]");
    TEST_FAILS(cla_layer_norm(tape, &y, x, three, three, NAN), CLA_E_USAGE, "eps is");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&four);
    cla_tensor_free(&three);
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
}
