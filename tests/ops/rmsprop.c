/* rmsprop.c - steps on the device against the oracle's. */
#include "clattn/optim.h"
#include "oracle/oracle.h"
#include "support/steps.h"

static const float LR = 0.001f, RHO = 0.9f, EPS = 1e-7f;

static cla_status device(cla_runtime *rt, cla_tensor *const *t, int step)
{
    (void)step;
    return cla_rmsprop(rt, t[0], t[1], t[2], LR, RHO, EPS);
}

static void oracle(double *const *x, int n, int step)
{
    (void)step;
    oracle_rmsprop(x[0], x[1], x[2], n, (double)LR, (double)RHO, (double)EPS);
}

/* A step is below 0.004 and errs by half a dozen roundings of it, and one of p. */
Test(rmsprop, matches_oracle)
{
    check_steps(&(steps_case){ "rmsprop", 1, device, oracle, 1e-6 });
}

Test(rmsprop, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *p = NULL, *other = NULL;
    TEST_OK(cla_tensor_new(&p, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&other, rt, CLA_F32, 1, (int64_t[]){ 5 }));
    TEST_FAILS(cla_rmsprop(rt, p, other, p, LR, RHO, EPS), CLA_E_SHAPE, "a is [5]");
    TEST_FAILS(cla_rmsprop(rt, p, p, other, LR, RHO, EPS), CLA_E_SHAPE,
               "g is [5], must be [4]");
    TEST_FAILS(cla_rmsprop(rt, NULL, p, p, LR, RHO, EPS), CLA_E_SHAPE, "p is missing");
    cla_tensor_free(&other);
    cla_tensor_free(&p);
    cla_runtime_free(&rt);
}
