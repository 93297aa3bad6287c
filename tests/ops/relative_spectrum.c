/* relative_spectrum.c - device against oracle, and a value known from elsewhere. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

typedef struct sizes {
    int H, t;
} sizes;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_relative_spectrum(tape, y, x[0]);
}

static void oracle(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    oracle_relative_spectrum(y, x[0], c->H, c->t);
}

/* The mean of 2t products: a cosine of 4 eps, a sum that errs by eps sqrt(2t) / 2t. */
static const double BAR = 1e-6;

Test(relative_spectrum, matches_oracle_and_gradient)
{
    sizes cases[] = { { 1, 1 }, { 3, 5 }, { 4, 60 }, { 2, 32 }, { 1, 131 }, { 0, 4 } };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sizes *c = &cases[i];
        if (test_small() && c->t > 32) {
            continue;
        }
        op_case op = {
            .in = { { "spectrum", 2, { c->H, 2 * (int64_t)c->t } } },
            .inputs = 1,
            .rank = 2,
            .shape = { c->H, 2 * (int64_t)c->t },
            .device = device,
            .oracle = oracle,
            .context = c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "relative_spectrum H%d t%d", c->H, c->t);
        check_op(rt, &op);
    }
    cla_runtime_free(&rt);
}

/* c_0 .. c_4 of the spectrum sin(0.9 k + 0.37 * 6), computed independently. */
Test(relative_spectrum, known_answer)
{
    static const double c[] = { 0.002963, -0.084282, 0.192206, 0.123384, 0.111218 };
    cla_runtime *rt = test_runtime();
    cla_tensor *spectrum = NULL, *table = NULL;
    cla_tape *tape = NULL;
    float host[10], got[10];
    double want[10] = { 0 };
    for (int k = 0; k < 10; k++) {
        host[k] = (float)sin(0.9 * k + 0.37 * 6);
        want[k] = k ? c[k < 5 ? 5 - k : k - 5] : 0;
    }
    TEST_OK(cla_tensor_new(&spectrum, rt, CLA_F32, 2, (int64_t[]){ 1, 10 }));
    TEST_OK(cla_tensor_upload(spectrum, host));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_relative_spectrum(tape, &table, spectrum));
    TEST_OK(cla_tensor_download(table, got));
    check_close("known answer", got, want, 10, 1e-6);
    cla_tape_free(&tape);
    cla_tensor_free(&spectrum);
    cla_runtime_free(&rt);
}

Test(relative_spectrum, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *odd = NULL, *flat = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&odd, rt, CLA_F32, 2, (int64_t[]){ 2, 5 }));
    TEST_OK(cla_tensor_new(&flat, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_relative_spectrum(tape, &y, odd), CLA_E_SHAPE,
               "spectrum is [2,5], must have 2t numbers");
    TEST_FAILS(cla_relative_spectrum(tape, &y, flat), CLA_E_SHAPE,
               "spectrum is [4], must be [*,*]");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&flat);
    cla_tensor_free(&odd);
    cla_runtime_free(&rt);
}
