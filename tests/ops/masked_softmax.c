/* masked_softmax.c - device against oracle: values, gradients, refusals. */
#include <string.h>

#include "support/bands.h"
#include "support/check_kind.h"

static const char *const rows[] = {
    "B=3 H=2 T=5 S=7",
    "B=1 H=1 T=1 S=1 -q_len -k_len",
    "B=3 H=2 T=7 S=5 causal=1 -q_len",
    "medium B=1 H=2 T=3 S=127 causal=1 -q_len -k_len",
    "medium B=1 H=1 T=2 S=128 -q_len -k_len",
    "medium B=2 H=1 T=129 S=129 causal=1 -q_len -k_len",
    "large B=1 H=3 T=17 S=1031 -q_len -k_len",
    "B=0 H=3 T=17 S=4 -q_len -k_len",
    "B=2 H=3 T=4 S=0 -q_len -k_len",
    NULL,
};

/* Fills in lengths: 5, 0 and 3 queries with 1, 4 and 0 keys; where T >= S, 5, 0 and 3
 * keys, of which 5 are all. */
static void fill(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    static const int32_t some[] = { 5, 0, 3 }, keys[] = { 1, 4, 0 };
    const bool few = operand == 2 && kind_size(c, "S") > kind_size(c, "T");
    memcpy(ids, few ? keys : some, (size_t)n * sizeof *ids);
}

/* A probability is exp(x - m) / sum: 2 eps for the exponential, 2 for its argument's
 * rounding (|x - m| < 20 here, so up to 20 eps of the value), a few for the sum. */
static const kind_table table = {
    .lines = { "masked_softmax", NULL, fill },
    .rows = rows,
    .bar = 2e-6,
    .scale = { 3 },
};

Test(masked_softmax, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

/* Scores far apart neither overflow nor vanish. */
static void check_extremes(cla_runtime *rt)
{
    const float x[] = { 3e38f, -3e38f, 0, 1e4f, -1e4f, 0 };
    const double want[] = { 1, 0, 0, 1, 0, 0 };
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *in = test_tensor(tape, CLA_F32, 4, (int64_t[]){ 1, 1, 2, 3 }, x);
    TEST_OK(cla_masked_softmax(tape, &y, in, NULL, NULL, false));
    check_tensor("extreme scores", y, want, 6, 0);
    cla_tape_free(&tape);
}

DEVICE_TEST(masked_softmax, survives_extreme_scores)
{
    EACH_SCHEDULE(rt)
    {
        check_extremes(rt);
    }
}

/* Scores of -inf have no weight, and a row of them alone has none at all, nor a
 * gradient. The lowest floats are scores as any. */
DEVICE_TEST(masked_softmax, takes_scores_of_minus_infinity)
{
    const float low = -INFINITY,
                x[] = { low, low, low, low, 1, 1, -3.4e38f, low, -3.4e38f };
    EACH_SCHEDULE(rt)
    {
        cla_tensor *y = NULL, *dy = NULL;
        cla_tape *tape = test_tape(rt, true);
        const int64_t shape[] = { 1, 1, 3, 3 };
        cla_tensor *in = test_tensor(tape, CLA_F32, 4, shape, x);
        cla_tensor_want_grad(in, true);
        TEST_OK(cla_masked_softmax(tape, &y, in, NULL, NULL, false));
        check_tensor("scores of -inf", y,
                     (double[]){ 0, 0, 0, 0, 0.5, 0.5, 0.5, 0, 0.5 }, 9, 0);
        dy = test_tensor(tape, CLA_F32, 4, shape,
                         (float[]){ 1, 2, 3, 1, 2, 4, 1, 2, 3 });
        TEST_OK(cla_tape_seed(tape, y, dy));
        TEST_OK(cla_tape_backward(tape));
        check_tensor("gradient", cla_tensor_grad(in),
                     (double[]){ 0, 0, 0, 0, -0.5, 0.5, -0.5, 0, 0.5 }, 9, 0);
        cla_tape_free(&tape);
    }
}

Test(masked_softmax, refuses)
{
    check_kind_refuses(&table);
}
