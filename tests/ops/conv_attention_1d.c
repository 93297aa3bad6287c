/* conv_attention_1d.c - device against oracle: values, gradients, map, refusals. */
#include <math.h>
#include <stdlib.h>

#include "support/check_kind.h"

/* A score's rounding is about sqrt(d) eps, 1e-6; a filtered weight averages those over
 * 3 rows of T keys, and the result is a sum of T of them, each below 1. */
static const double BAR = 1e-5;

/* ReLU is only in cases with small maps, as a finite difference across one of its kinks
 * is wrong. */
static const kind_table cases = {
    .lines = { .op = "conv_attention_1d" },
    .rows = (const char *const[]){ "rows=1 H=1 d=3 t=1",
                                   "rows=5,0,3 H=2 d=3 t=9 activation=1 medium",
                                   "rows= H=2 d=3 t=4", "rows=0 H=2 d=3 t=5",
                                   "rows=7,33,1,32 H=1 d=24 t=33 columns medium",
                                   "rows=60,17 H=3 d=48 t=60 activation=2 large",
                                   "rows=5,0,33 H=2 d=8 t=33 activation=3 medium",
                                   "rows=131 H=1 d=48 t=131 large",
                                   "rows=18,3 H=1 d=256 t=18 columns large", NULL },
    .scale = { [3] = 0.3f, [4] = 0.3f },
    .bar = BAR,
};

Test(conv_attention_1d, matches_oracle_and_gradient)
{
    check_kind_cases(&cases);
}

/* A filter of 1 at every key's own place gives plain attention. */
DEVICE_TEST(conv_attention_1d, identity_is_attention)
{
    enum { T = 5, H = 2, D = 8, SIZE = T * H * D, LEARNED = H * 3 * T * T };
    static const int lengths[] = { T };
    static float w[LEARNED], got[SIZE], plain[SIZE];
    double want[SIZE];
    cla_ragged *rows = test_ragged(rt, 1, lengths, NULL);
    cla_tensor *q[3], *filter = NULL, *b = NULL, *o = NULL, *p = NULL;
    cla_tensor *map = NULL, *plain_map = NULL;
    cla_tape *tape = test_tape(rt, false);
    for (int i = 0; i < H * T; i++) {
        w[((i / T * 3 + 1) * T + i % T) * T + i % T] = 1;
    }
    for (int i = 0; i < 3; i++) {
        float *x = test_random(SIZE, 1, (uint32_t)i);
        TEST_OK(cla_tensor_new(&q[i], rt, CLA_F32, 3, (int64_t[]){ T, H, D }));
        TEST_OK(cla_tensor_upload(q[i], x));
        free(x);
    }
    TEST_OK(cla_tensor_new(&filter, rt, CLA_F32, 4, (int64_t[]){ H, 3, T, T }));
    TEST_OK(cla_tensor_upload(filter, w));
    TEST_OK(cla_tensor_new(&b, rt, CLA_F32, 2, (int64_t[]){ H, T }));
    TEST_OK(cla_tensor_fill(b, 0));
    const cla_attention_options options = { .map = &map };
    TEST_OK(cla_conv_attention_1d(tape, &o, q[0], q[1], q[2], filter, b, rows, CLA_RELU,
                                  &options));
    const cla_attention_options unfiltered = { .map = &plain_map };
    TEST_OK(cla_attention(tape, &p, q[0], q[1], q[2], rows, rows, &unfiltered));
    TEST_OK(cla_tensor_download(o, got));
    TEST_OK(cla_tensor_download(p, plain));
    for (int i = 0; i < SIZE; i++) {
        want[i] = (double)plain[i];
    }
    check_close("identity", got, want, SIZE, BAR);
    float weights[H * T * T], plain_weights[H * T * T];
    double want_weights[H * T * T];
    TEST_OK(cla_tensor_download(map, weights));
    TEST_OK(cla_tensor_download(plain_map, plain_weights));
    for (int i = 0; i < H * T * T; i++) {
        want_weights[i] = (double)plain_weights[i];
    }
    check_close("map", weights, want_weights, H * T * T, 1e-6);
    cla_tape_free(&tape);
    cla_tensor_free(&b);
    cla_tensor_free(&filter);
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&q[i]);
    }
    cla_ragged_free(&rows);
}

DEVICE_TEST(conv_attention_1d, refuses)
{
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 2, 3 }, NULL);
    cla_tensor *o = NULL;
    cla_tape *tape = test_tape(rt, false);
    check_refusals(rt, &cases);
    cla_tensor *q = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 5, 2, 4 }, NULL);
    cla_tensor *w = test_tensor(tape, CLA_F32, 4, (int64_t[]){ 2, 3, 3, 3 }, NULL);
    cla_tensor *tight = test_tensor(tape, CLA_F32, 4, (int64_t[]){ 2, 3, 2, 2 }, NULL);
    cla_tensor *b = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 3 }, NULL);
    cla_tensor *two = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 2 }, NULL);
#define CALL(w, b, options) \
    cla_conv_attention_1d(tape, &o, q, q, q, w, b, rows, CLA_RELU, options)
    const cla_attention_options causal = { .causal = true }, drop = { .dropout = 0.5f };
    TEST_FAILS(CALL(w, b, &causal), CLA_E_USAGE, "neither causal nor dropout");
    TEST_FAILS(CALL(w, b, &drop), CLA_E_USAGE, "neither causal nor dropout");
    TEST_FAILS(CALL(tight, two, NULL), CLA_E_SHAPE,
               "a sequence of 3 tokens, the filters are for 2");
#undef CALL
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
