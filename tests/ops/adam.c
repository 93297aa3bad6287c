/* adam.c - steps on the device against the oracle's. */
#include "clattn/optim.h"
#include "oracle/oracle.h"
#include "support/steps.h"

static const cla_adam_options OPTIONS = { 0.01f, 0.9f, 0.98f, 1e-9f };

static cla_status device(cla_runtime *rt, cla_tensor *const *t, int step)
{
    return cla_adam(rt, t[0], t[1], t[2], t[3], step, &OPTIONS);
}

static void oracle(double *const *x, int n, int step)
{
    oracle_adam(x[0], x[1], x[2], x[3], n, step, (double)OPTIONS.lr,
                (double)OPTIONS.beta1, (double)OPTIONS.beta2, (double)OPTIONS.eps);
}

/* A step is below 0.02 and errs by a dozen roundings of it, and one of p. */
Test(adam, matches_oracle)
{
    check_steps(&(steps_case){ "adam", 2, device, oracle, 1e-6 });
}

Test(adam, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *p = NULL, *other = NULL;
    TEST_OK(cla_tensor_new(&p, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&other, rt, CLA_F32, 1, (int64_t[]){ 5 }));
    TEST_FAILS(cla_adam(rt, p, other, p, p, 1, &OPTIONS), CLA_E_SHAPE, "m is [5]");
    TEST_FAILS(cla_adam(rt, p, p, other, p, 1, &OPTIONS), CLA_E_SHAPE, "v is [5]");
    TEST_FAILS(cla_adam(rt, p, p, p, other, 1, &OPTIONS), CLA_E_SHAPE,
               "g is [5], must be [4]");
    TEST_FAILS(cla_adam(rt, p, p, p, p, 0, &OPTIONS), CLA_E_USAGE, "step is 0");
    TEST_FAILS(cla_adam(rt, NULL, p, p, p, 1, &OPTIONS), CLA_E_SHAPE, "p is missing");
    cla_tensor_free(&other);
    cla_tensor_free(&p);
    cla_runtime_free(&rt);
}
