/* cross_entropy.c - device against oracle: values, gradients, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "oracle/oracle.h"
#include "support/support.h"

typedef struct batch {
    int N, V;
    float smoothing;
    bool ignore_all, weighted;
    int32_t *targets;
    cla_tensor *device_targets;
} batch;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const batch *c = context;
    return c->weighted
               ? cla_weighted_cross_entropy(tape, y, x[0], c->device_targets,
                                            c->smoothing, x[1])
               : cla_cross_entropy(tape, y, x[0], c->device_targets, c->smoothing);
}

static void oracle(double *y, double *const *x, void *context)
{
    const batch *c = context;
    y[0] = oracle_cross_entropy(x[0], c->targets, c->N, c->V, (double)c->smoothing,
                                c->weighted ? x[1] : NULL);
}

/* One target in eight is ignored. */
static void make_targets(cla_runtime *rt, batch *c)
{
    c->targets = calloc((size_t)c->N + 1, sizeof *c->targets);
    cr_assert_not_null(c->targets);
    for (int n = 0; n < c->N; n++) {
        const uint32_t counter[4] = { (uint32_t)n }, key[2] = { test_seed() };
        const cla_philox r = cla_philox4x32(counter, key);
        const bool ignored = c->ignore_all || (c->N > 1 && r.v[1] % 8 == 0);
        c->targets[n] = ignored ? -1 : (int32_t)(r.v[0] % (uint32_t)c->V);
    }
    TEST_OK(cla_tensor_new(&c->device_targets, rt, CLA_I32, 1, (int64_t[]){ c->N }));
    TEST_OK(cla_tensor_upload(c->device_targets, c->targets));
}

/* A row costs about 5, from sums that err by eps sqrt(V) and an exponential and
 * logarithm of 2 eps; the mean over rows averages that. */
static const double BAR = 2e-6;

Test(cross_entropy, matches_oracle_and_gradient)
{
    batch cases[] = {
        { .N = 1, .V = 1 },
        { .N = 3, .V = 18 },
        { .N = 7, .V = 2, .smoothing = 0.1f },
        { .N = 63, .V = 19, .smoothing = 0.1f },
        { .N = 64, .V = 64 },
        { .N = 65, .V = 65, .smoothing = 0.3f },
        { .N = 129, .V = 31 },
        { .N = 5, .V = 1031, .smoothing = 0.1f },
        { .N = 65, .V = 65, .smoothing = 0.3f, .weighted = true },
        { .N = 9, .V = 18, .weighted = true },
        { .N = 4, .V = 5, .ignore_all = true },
        { .N = 0, .V = 5 },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        batch *c = &cases[i];
        if (test_small() && c->V > 500) {
            continue;
        }
        make_targets(rt, c);
        op_case op = {
            .in = { { "logits", 2, { c->N, c->V }, .scale = 3 },
                    { "factor", 1, { c->N }, .constant = true } },
            .inputs = c->weighted ? 2 : 1,
            .rank = 1,
            .shape = { 1 },
            .device = device,
            .oracle = oracle,
            .context = c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "cross_entropy N%d V%d smoothing %g", c->N,
                 c->V, (double)c->smoothing);
        check_op(rt, &op);
        free(c->targets);
        cla_tensor_free(&c->device_targets);
    }
    cla_runtime_free(&rt);
}

/* Logits far apart: the gold word's cost is the distance, and nothing overflows. */
Test(cross_entropy, survives_extreme_logits)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *x = NULL, *targets = NULL, *loss = NULL;
    cla_tape *tape = NULL;
    float got[6];
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tensor_upload(x, (float[]){ 1e4f, 0, -1e4f, 1e30f, 1e30f, -1e30f }));
    TEST_OK(cla_tensor_new(&targets, rt, CLA_I32, 1, (int64_t[]){ 2 }));
    TEST_OK(cla_tensor_upload(targets, (int32_t[]){ 1, 0 }));
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_OK(cla_cross_entropy(tape, &loss, x, targets, 0));
    TEST_OK(cla_tape_seed(tape, loss, NULL));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(loss, got));
    check_close("loss", got, (double[]){ (1e4 + log(2)) / 2 }, 1, BAR);
    TEST_OK(cla_tensor_download(cla_tensor_grad(x), got));
    /* The second row's gradient would be (-0.25, 0.25, 0), but its lse rounds to
     * 1e30. */
    check_close("gradient", got, (double[]){ 0.5, -0.5, 0 }, 3, BAR);
    for (int i = 3; i < 6; i++) {
        cr_assert(isfinite(got[i]), "gradient[%d] is %g", i, (double)got[i]);
    }
    cla_tape_free(&tape);
    cla_tensor_free(&targets);
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
}

Test(cross_entropy, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *x = NULL, *one = NULL, *two = NULL, *three = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tensor_new(&one, rt, CLA_F32, 2, (int64_t[]){ 2, 1 }));
    TEST_OK(cla_tensor_new(&two, rt, CLA_I32, 1, (int64_t[]){ 2 }));
    TEST_OK(cla_tensor_new(&three, rt, CLA_I32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_cross_entropy(tape, &y, two, two, 0), CLA_E_SHAPE, "logits holds");
    TEST_FAILS(cla_cross_entropy(tape, &y, x, three, 0), CLA_E_SHAPE,
               "targets is [3], must be [2]");
    TEST_FAILS(cla_weighted_cross_entropy(tape, &y, x, two, 0, x), CLA_E_SHAPE,
               "factor is [2,3], must be [2]");
    TEST_FAILS(cla_cross_entropy(tape, &y, x, two, 1), CLA_E_USAGE, "smoothing is 1");
    TEST_FAILS(cla_cross_entropy(tape, &y, one, two, 0.1f), CLA_E_USAGE,
               "0 for one class");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&three);
    cla_tensor_free(&two);
    cla_tensor_free(&one);
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
}
