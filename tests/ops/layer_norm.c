/* layer_norm.c - device against oracle: values, gradients, refusals. */
#include <math.h>
#include <string.h>

#include "clattn/feed.h"
#include "oracle/oracle.h"
#include "support/bands.h"
#include "support/check_kind.h"

static const float EPS = 1e-6f;

/* Mean and variance err by about eps sqrt(D) / D of |x|, with D = 1 the worst; then
 * five roundings. */
static const double BAR = 2e-6;

static const char *const rows[] = {
    "N=4 D=3",          "N=5 D=7",           "N=1 D=63",
    "N=9 D=64 medium",  "N=8 D=65 medium",   "N=3 D=65 tiny",
    "N=33 D=72 medium", "N=40 D=192 medium", "N=7 D=129 medium",
    "N=2 D=1031 large", "N=70 D=17 medium",  "N=66 D=5 tiny",
    "N=0 D=4",          "N=2100 D=5 large",  NULL,
};
static const kind_table table = {
    .lines = { "layer_norm", "eps=1e-6", NULL },
    .rows = rows,
    .bar = BAR,
    .scale = { 2 },
};

static const kind_table rms_table = {
    .lines = { "rms_norm", "eps=1e-6", NULL },
    .rows = rows,
    .bar = BAR,
    .scale = { 2 },
};

Test(layer_norm, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

Test(layer_norm, rms_matches_oracle_and_gradient)
{
    check_kind_cases(&rms_table);
    check_kind_refuses(&rms_table);
}

/* A row far from zero keeps its small differences, as the variance is about the
 * mean. */
static void check_offset(cla_runtime *rt)
{
    const float x[] = { 10000, 10001, 10002, 10003 };
    double exact[4], want[4];
    const double one[] = { 1, 1, 1, 1 }, zero[] = { 0, 0, 0, 0 };
    for (int i = 0; i < 4; i++) {
        exact[i] = (double)x[i];
    }
    oracle_layer_norm(want, exact, one, zero, 1, 4, (double)EPS);
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *gamma = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 4 }, NULL);
    cla_tensor *beta = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 4 }, NULL);
    cla_tensor *in = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 1, 4 }, x);
    TEST_OK(cla_tensor_fill(gamma, 1));
    TEST_OK(cla_tensor_fill(beta, 0));
    TEST_OK(cla_layer_norm(tape, &y, in, gamma, beta, EPS));
    check_tensor("offset", y, want, 4, BAR);
    cla_tape_free(&tape);
}

DEVICE_TEST(layer_norm, survives_an_offset)
{
    EACH_SCHEDULE(rt)
    {
        check_offset(rt);
    }
}

DEVICE_TEST(layer_norm, refuses)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    check_refusals(rt, &table);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 3 }, NULL);
    cla_tensor *three = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 3 }, NULL);
    cla_tensor *four = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 4 }, NULL);
    TEST_FAILS(cla_layer_norm(tape, &y, three, three, three, EPS), CLA_E_SHAPE,
               "x is [3], must be [*,*]");
    TEST_FAILS(cla_layer_norm(tape, &y, x, four, three, EPS), CLA_E_SHAPE,
               "gamma is [4], must be [3]");
    TEST_FAILS(cla_layer_norm(tape, &y, x, three, three, NAN), CLA_E_USAGE, "eps is");
    TEST_FAILS(cla_rms_norm(tape, &y, x, three, -1), CLA_E_USAGE, "rms_norm: eps is");
    cr_assert_null(y);
    cla_tape_free(&tape);
}
