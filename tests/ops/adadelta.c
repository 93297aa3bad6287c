/* adadelta.c - steps on the device against the oracle's. */
#include "clattn/optim.h"
#include "oracle/oracle.h"
#include "support/steps.h"

static const float LR = 1, RHO = 0.95f, EPS = 1e-6f;

static cla_status device(cla_runtime *rt, cla_tensor *const *t, int step)
{
    (void)step;
    return cla_adadelta(rt, t[0], t[1], t[2], t[3], LR, RHO, EPS);
}

static void oracle(double *const *x, int n, int step)
{
    (void)step;
    oracle_adadelta(x[0], x[1], x[2], x[3], n, (double)LR, (double)RHO, (double)EPS);
}

/* Steps are below 0.01 and err by a dozen roundings of that, and one of p. */
Test(adadelta, matches_oracle)
{
    check_steps(&(steps_case){ "adadelta", 2, device, oracle, 1e-6 });
}

/* One gradient of 1: u = sqrt(1e-6 / (0.05 + 1e-6)). */
Test(adadelta, known_step)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *t[4];
    float got = 0;
    for (int i = 0; i < 4; i++) {
        TEST_OK(cla_tensor_new(&t[i], rt, CLA_F32, 1, (int64_t[]){ 1 }));
        TEST_OK(cla_tensor_fill(t[i], i == 3));
    }
    TEST_OK(cla_adadelta(rt, t[0], t[1], t[2], t[3], 0.5F, RHO, EPS));
    TEST_OK(cla_tensor_download(t[0], &got));
    check_close("p", &got, &(double){ -0.5 * 0.00447209124 }, 1, 1e-9);
    for (int i = 0; i < 4; i++) {
        cla_tensor_free(&t[i]);
    }
    cla_runtime_free(&rt);
}

Test(adadelta, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *p = NULL, *other = NULL;
    TEST_OK(cla_tensor_new(&p, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&other, rt, CLA_F32, 1, (int64_t[]){ 5 }));
    TEST_FAILS(cla_adadelta(rt, p, other, p, p, LR, RHO, EPS), CLA_E_SHAPE, "a is [5]");
    TEST_FAILS(cla_adadelta(rt, p, p, other, p, LR, RHO, EPS), CLA_E_SHAPE, "d is [5]");
    TEST_FAILS(cla_adadelta(rt, p, p, p, other, LR, RHO, EPS), CLA_E_SHAPE,
               "g is [5], must be [4]");
    TEST_FAILS(cla_adadelta(rt, NULL, p, p, p, LR, RHO, EPS), CLA_E_SHAPE,
               "p is missing");
    cla_tensor_free(&other);
    cla_tensor_free(&p);
    cla_runtime_free(&rt);
}
