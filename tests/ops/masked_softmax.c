/* masked_softmax.c - device against oracle: values, gradients, refusals. */
#include <stdio.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

typedef struct lengths {
    int B, H, T, S;
    bool causal;
    const int32_t *q_len, *k_len; // NULL: all
    cla_tensor *device_q_len, *device_k_len;
} lengths;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const lengths *c = context;
    return cla_masked_softmax(tape, y, x[0], c->device_q_len, c->device_k_len,
                              c->causal);
}

static void oracle(double *y, double *const *x, void *context)
{
    const lengths *c = context;
    oracle_masked_softmax(y, x[0], c->B, c->H, c->T, c->S, c->q_len, c->k_len,
                          c->causal);
}

static void upload_lengths(cla_runtime *rt, lengths *c)
{
    const int64_t shape[] = { c->B };
    if (c->q_len) {
        TEST_OK(cla_tensor_new(&c->device_q_len, rt, CLA_I32, 1, shape));
        TEST_OK(cla_tensor_upload(c->device_q_len, c->q_len));
    }
    if (c->k_len) {
        TEST_OK(cla_tensor_new(&c->device_k_len, rt, CLA_I32, 1, shape));
        TEST_OK(cla_tensor_upload(c->device_k_len, c->k_len));
    }
}

/* A probability is exp(x - m) / sum: 2 eps for the exponential, 2 for its argument's
 * rounding (|x - m| < 20 here, so up to 20 eps of the value), a few for the sum. */
static const double BAR = 2e-6;

Test(masked_softmax, matches_oracle_and_gradient)
{
    static const int32_t some[] = { 5, 0, 3 }, keys[] = { 1, 4, 0 };
    lengths cases[] = {
        { .B = 1, .H = 1, .T = 1, .S = 1 },
        { .B = 3, .H = 2, .T = 5, .S = 7, .q_len = some, .k_len = keys },
        { .B = 3, .H = 2, .T = 7, .S = 5, .k_len = some, .causal = true },
        { .B = 1, .H = 2, .T = 3, .S = 127, .causal = true },
        { .B = 1, .H = 1, .T = 2, .S = 128 },
        { .B = 2, .H = 1, .T = 129, .S = 129, .causal = true },
        { .B = 1, .H = 3, .T = 17, .S = 1031 },
        { .B = 0, .H = 3, .T = 17, .S = 4 },
        { .B = 2, .H = 3, .T = 4, .S = 0 },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lengths *c = &cases[i];
        if ((test_tiny() && c->S > 16) || (test_small() && c->S > 130)) {
            continue;
        }
        upload_lengths(rt, c);
        op_case op = {
            .in = { { "x", 4, { c->B, c->H, c->T, c->S }, .scale = 3 } },
            .inputs = 1,
            .rank = 4,
            .shape = { c->B, c->H, c->T, c->S },
            .device = device,
            .oracle = oracle,
            .context = c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "masked_softmax B%d H%d T%d S%d causal %d",
                 c->B, c->H, c->T, c->S, c->causal);
        check_op(rt, &op);
        cla_tensor_free(&c->device_q_len);
        cla_tensor_free(&c->device_k_len);
    }
    cla_runtime_free(&rt);
}

/* Scores far apart must neither overflow nor vanish. */
Test(masked_softmax, survives_extreme_scores)
{
    cla_runtime *rt = test_runtime();
    const float x[] = { 3e38f, -3e38f, 0, 1e4f, -1e4f, 0 };
    const double want[] = { 1, 0, 0, 1, 0, 0 };
    float got[6];
    cla_tensor *in = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&in, rt, CLA_F32, 4, (int64_t[]){ 1, 1, 2, 3 }));
    TEST_OK(cla_tensor_upload(in, x));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_masked_softmax(tape, &y, in, NULL, NULL, false));
    TEST_OK(cla_tensor_download(y, got));
    check_close("extreme scores", got, want, 6, 0);
    cla_tape_free(&tape);
    cla_tensor_free(&in);
    cla_runtime_free(&rt);
}

Test(masked_softmax, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *x = NULL, *flat = NULL, *len = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 4, (int64_t[]){ 2, 1, 2, 3 }));
    TEST_OK(cla_tensor_new(&flat, rt, CLA_F32, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tensor_new(&len, rt, CLA_I32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_masked_softmax(tape, &y, flat, NULL, NULL, false), CLA_E_SHAPE,
               "x is [2,3], must be [*,*,*,*]");
    TEST_FAILS(cla_masked_softmax(tape, &y, x, len, NULL, false), CLA_E_SHAPE,
               "q_len is [3], must be [2]");
    TEST_FAILS(cla_masked_softmax(tape, &y, x, NULL, x, false), CLA_E_SHAPE,
               "k_len holds f32, must hold i32");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_tensor_free(&flat);
    cla_tensor_free(&len);
    cla_runtime_free(&rt);
}
