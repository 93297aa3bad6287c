/* cross_entropy.c - device against oracle: values, gradients, refusals. */
#include <math.h>

#include "base/rng.h"
#include "support/bands.h"
#include "support/check_kind.h"

static const char *const rows[] = {
    "N=3 V=18",
    "N=1 V=1 -factor",
    "N=3 V=18 -factor",
    "N=7 V=2 smoothing=0.1 -factor",
    "medium N=63 V=19 smoothing=0.1 -factor",
    "medium N=64 V=64 -factor",
    "medium N=65 V=65 smoothing=0.3 -factor",
    "N=3 V=65 smoothing=0.3 -factor tiny",
    "medium N=129 V=31 -factor",
    "large N=5 V=1031 smoothing=0.1 -factor",
    "medium N=65 V=65 smoothing=0.3",
    "N=65 V=3 smoothing=0.3 tiny",
    "N=9 V=18",
    "N=4 V=5 -factor",
    "N=0 V=5 -factor",
    NULL,
};

/* Fills in targets. One in eight is ignored, and all where there are four. */
static void fill(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)operand;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t counter[4] = { (uint32_t)i }, key[2] = { test_seed() };
        const cla_philox r = cla_philox4x32(counter, key);
        const bool ignored = n == 4 || (n > 1 && r.v[1] % 8 == 0);
        ids[i] = ignored ? -1 : (int32_t)(r.v[0] % (uint32_t)kind_size(c, "V"));
    }
}

/* A row costs about 5, from sums that err by eps sqrt(V) and an exponential and
 * logarithm of 2 eps; the mean over rows averages that. */
static const double BAR = 2e-6;

static const kind_table table = {
    .lines = { "cross_entropy", NULL, fill },
    .rows = rows,
    .bar = BAR,
    .scale = { 3 },
    .constant = "factor",
};

Test(cross_entropy, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

/* With logits far apart the loss is the distance to the target's logit, and nothing
 * overflows. */
static void check_extremes(cla_runtime *rt)
{
    cla_tensor *loss = NULL;
    cla_tape *tape = test_tape(rt, true);
    float got[6];
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 3 },
                                (float[]){ 1e4f, 0, -1e4f, 1e30f, 1e30f, -1e30f });
    cla_tensor *targets =
        test_tensor(tape, CLA_I32, 1, (int64_t[]){ 2 }, (int32_t[]){ 1, 0 });
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_cross_entropy(tape, &loss, x, targets, 0));
    test_backward(tape, loss);
    check_tensor("loss", loss, (double[]){ (1e4 + log(2)) / 2 }, 1, BAR);
    TEST_OK(cla_tensor_download(cla_tensor_grad(x), got));
    /* The second row's gradient would be (-0.25, 0.25, 0), but its lse rounds to
     * 1e30. */
    check_close("gradient", got, (double[]){ 0.5, -0.5, 0 }, 3, BAR);
    for (int i = 3; i < 6; i++) {
        cr_assert(isfinite(got[i]), "gradient[%d] is %g", i, (double)got[i]);
    }
    cla_tape_free(&tape);
}

DEVICE_TEST(cross_entropy, survives_extreme_logits)
{
    EACH_SCHEDULE(rt)
    {
        check_extremes(rt);
    }
}

DEVICE_TEST(cross_entropy, refuses)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 3 }, NULL);
    cla_tensor *one = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 1 }, NULL);
    cla_tensor *two = test_tensor(tape, CLA_I32, 1, (int64_t[]){ 2 }, NULL);
    check_refusals(rt, &table);
    TEST_FAILS(cla_weighted_cross_entropy(tape, &y, x, two, 0, x), CLA_E_SHAPE,
               "factor is [2,3], must be [2]");
    TEST_FAILS(cla_cross_entropy(tape, &y, x, two, 1), CLA_E_USAGE, "smoothing is 1");
    TEST_FAILS(cla_cross_entropy(tape, &y, one, two, 0.1f), CLA_E_USAGE,
               "0 for one class");
    cr_assert_null(y);
    cla_tape_free(&tape);
}
