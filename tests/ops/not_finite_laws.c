/* not_finite_laws.c - the rule for numbers that are not finite where kinds of operators
 * do not say it: logits and scores of -INFINITY, classes, and every path of a
 * product. */
#include <stdlib.h>

#include "clattn/hard.h"
#include "ops/activation.h"
#include "ops/matmul.h"
#include "support/bands.h"
#include "support/support.h"

/* A class that cannot be has probability 0 and costs nothing, unless smoothing asks for
 * it. */
DEVICE_TEST(not_finite, logits_of_minus_infinity)
{
    EACH_SCHEDULE(rt)
    {
        cla_tape *tape = test_tape(rt, true);
        cla_tensor *loss = NULL;
        cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 1, 3 },
                                    (float[]){ 1, -INFINITY, 1 });
        cla_tensor *targets =
            test_tensor(tape, CLA_I32, 1, (int64_t[]){ 1 }, (int32_t[]){ 2 });
        cla_tensor_want_grad(x, true);
        TEST_OK(cla_cross_entropy(tape, &loss, x, targets, 0));
        test_backward(tape, loss);
        check_tensor("loss", loss, (double[]){ log(2) }, 1, 1e-6);
        check_tensor("gradient", cla_tensor_grad(x), (double[]){ 0.5, 0, -0.5 }, 3,
                     1e-6);
        cla_tape_free(&tape);
    }
}

/* The policy of a gate that is shut for sure costs nothing; a NaN stays in its row. */
DEVICE_TEST(not_finite, gates_of_minus_infinity)
{
    static const int one[] = { 1, 1 }, two[] = { 2, 2 };
    static const double want[] = { 0, -0.25, -0.25, -0.25 }; // -1/2 (g - p), R = 1
    cla_ragged *q_rows = test_ragged(rt, 2, one, NULL);
    cla_ragged *k_rows = test_ragged(rt, 2, two, NULL);
    for (int nan = 0; nan < 2; nan++) {
        const float scores[] = { -INFINITY, nan ? NAN : 0, 0, 0 };
        const cla_reinforce_options options = { .entropy = 0 };
        float got[4], cost = 0;
        cla_tape *tape = test_tape(rt, true);
        cla_tensor *loss = NULL;
        cla_tensor *s = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 4 }, scores);
        cla_tensor *g =
            test_tensor(tape, CLA_F32, 1, (int64_t[]){ 4 }, (float[]){ 0, 1, 1, 1 });
        cla_tensor *r =
            test_tensor(tape, CLA_F32, 1, (int64_t[]){ 2 }, (float[]){ 1, 1 });
        cla_tensor_want_grad(s, true);
        TEST_OK(cla_reinforce(tape, &loss, s, g, r, q_rows, k_rows, &options));
        test_backward(tape, loss);
        TEST_OK(cla_tensor_download(loss, &cost));
        TEST_OK(cla_tensor_download(cla_tensor_grad(s), got));
        cr_assert(nan ? isnan(cost) : fabsf(cost - 1.5f * logf(2)) < 1e-6f,
                  "the loss is %g", (double)cost);
        for (int i = 0; i < 4; i++) {
            cr_assert(nan && i == 1 ? isnan(got[i]) : fabs(got[i] - want[i]) < 1e-6,
                      "gradient [%d] is %g", i, (double)got[i]);
        }
        cla_tape_free(&tape);
    }
    cla_ragged_free(&k_rows);
    cla_ragged_free(&q_rows);
}

/* A NaN is in the sum of all probabilities; classes stay classes. */
DEVICE_TEST(not_finite, classes_beside_nan)
{
    enum { V = 19, K = 3 };
    EACH_SCHEDULE(rt)
    {
        float x[2 * V], logp[2 * K];
        int32_t id[2 * K];
        for (int i = 0; i < 2 * V; i++) {
            x[i] = i < V ? NAN : (float)i;
        }
        x[2 * V - 1] = NAN;
        cla_tape *tape = test_tape(rt, false);
        cla_tensor *values = NULL, *classes = NULL;
        cla_tensor *logits = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, V }, x);
        TEST_OK(cla_top_k(tape, &values, &classes, logits, K));
        TEST_OK(cla_tensor_download(values, logp));
        TEST_OK(cla_tensor_download(classes, id));
        for (int i = 0; i < 2 * K; i++) {
            cr_assert(isnan(logp[i]), "logp [%d] is %g", i, (double)logp[i]);
            cr_assert(id[i] >= 0 && id[i] < V, "id [%d] is %d", i, id[i]);
        }
        cla_tape_free(&tape);
    }
}

/* Checks act(x w + b) with a NaN in b: in its column alone. */
static void check_product(cla_runtime *rt, int rows, cla_activation activation)
{
    enum { IN = 3, OUT = 5, WHERE = 3 };
    float y[80 * OUT], b[OUT] = { 0 };
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *out = NULL;
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ rows, IN }, NULL);
    cla_tensor *w = test_tensor(tape, CLA_F32, 2, (int64_t[]){ IN, OUT }, NULL);
    b[WHERE] = NAN;
    TEST_OK(cla_tensor_fill(x, 1));
    TEST_OK(cla_tensor_fill(w, -0.25f));
    cla_tensor *bias = test_tensor(tape, CLA_F32, 1, (int64_t[]){ OUT }, b);
    TEST_OK(cla_linear(tape, &out, x, w, bias, activation, NULL));
    TEST_OK(cla_tensor_download(out, y));
    for (int i = 0; i < rows * OUT; i++) {
        cr_assert((isnan(y[i]) != 0) == (i % OUT == WHERE),
                  "%d rows, activation %d: y [%d] is %g", rows, (int)activation, i,
                  (double)y[i]);
    }
    cla_tape_free(&tape);
}

/* One row takes the product with a vector, many take tiles or the library. */
DEVICE_TEST(not_finite, tails_of_products)
{
    const cla_provider providers[] = { CLA_PROVIDER_OWN, CLA_PROVIDER_CLBLAST };
    const int count = cla_clblast_built() && !test_tiny() ? 2 : 1;
    for (int n = 0; n < count; n++) {
        TEST_OK(cla_product_set_provider(rt, providers[n]));
        EACH_SCHEDULE(rt)
        {
            for (int act = 0; cla_activation_names[act] && !(test_tiny() && act);
                 act++) {
                check_product(rt, 1, (cla_activation)act);
                check_product(rt, test_tiny() ? 2 : 70, (cla_activation)act);
            }
        }
    }
}
