/* band_attention.c - device against oracle, known answers, invariants, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/bands.h"

/* Sequences are longer and shorter than a tile and cross its ends; windows have one
 * key, fit a piece or exceed it. There are few widths, as each takes ten seconds to
 * compile: less than a vector, one vector, some with idle columns in the last, and the
 * largest. */
static const band_case cases[] = {
    { 1, { 1 }, .H = 1, .d = 8, .window = 1 },
    { 3, { 5, 0, 3 }, .H = 2, .d = 3, .window = 3 },
    { 4, { 7, 1, 0, 12 }, .H = 3, .d = 8, .window = 5, .columns = true },
    { 2, { 0, 0 }, .H = 2, .d = 8, .window = 3 },
    { 2, { 9, 4 }, .H = 2, .d = 3, .window = 7, .dropout = 0.3f },
    { 2, { 33, 31 }, .H = 2, .d = 72, .window = 11, .causal = true },
    { 3, { 3, 61, 2 }, .H = 1, .d = 72, .window = 65, .columns = true },
    { 1, { 33 }, .H = 2, .d = 8, .window = 11, .causal = true, .dropout = 0.5f },
    { 2, { 20, 170 }, .H = 1, .d = 8, .window = 201 },
    { 2, { 70, 90 }, .H = 1, .d = 8, .window = 133, .causal = true, .dropout = 0.1f },
    { 1, { 100 }, .H = 2, .d = 72, .window = 33 },
    { 2, { 17, 32 }, .H = 1, .d = 72, .window = 9 },
    { 2, { 35, 6 }, .H = 1, .d = 256, .window = 7, .dropout = 0.2f },
    { 1, { 40 }, .H = 1, .d = 256, .window = 79 },
};

DEVICE_TEST(band_attention, matches_oracle_and_gradient)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const band_case *c = &cases[i];
        const int64_t size = band_size(c);
        if (!(test_tiny() && size > 700) && !(test_small() && size > 3000)) {
            check_band(rt, c);
        }
    }
}

static const band_answer answers[] = {
    { 5,
      0,
      0,
      { 0.706559, 0.667319, 0.123065 },
      { 0.537666, 0.150155, -0.350990 },
      4,
      0.791953,
      20.875641,
      20.899077,
      19.622820 },
    { 4,
      0,
      0,
      { 0.706559, 0.667319, 0.123065 },
      { -0.367550, 0.077132, 0.463442 },
      3,
      -3.188751,
      0,
      0,
      0 },
};

DEVICE_TEST(band_attention, known_answers)
{
    EACH_SCHEDULE(rt)
    {
        for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
            check_band_answer(rt, &answers[i]);
        }
    }
}

/* With one key the weight is 1, whatever the score, and dv is dO. */
DEVICE_TEST(band_attention, window_of_one_is_v)
{
    const band_case c = { 2, { 5, 6 }, .H = 2, .d = 8, .window = 1 };
    float *x[4];
    band_inputs(&c, x);
    EACH_SCHEDULE(rt)
    {
        band_result r;
        band_run(rt, &c, x[0], x[1], x[2], x[3], &r);
        cr_assert(!memcmp(r.o, x[2], (size_t)band_size(&c) * 4));
        const double zero[11 * 48] = { 0 };
        double dy[11 * 48];
        for (int i = 0; i < 11 * 48; i++) {
            dy[i] = (double)x[3][i];
        }
        check_close("dv", r.dv, dy, band_size(&c), 1e-6);
        check_close("dq", r.dq, zero, band_size(&c), 1e-5);
        band_result_fini(&r);
    }
    band_inputs_free(x);
}

/* A window of 2 T - 1 keys or more gives full attention. */
DEVICE_TEST(band_attention, wide_window_is_full_attention)
{
    band_case c = { 2, { 9, 4 }, .H = 2, .d = 8, .window = 17 };
    const int32_t offsets[] = { 0, 9, 13 };
    const oracle_attention_shape s = {
        .B = 2, .H = 2, .d = 8, .q_offsets = offsets, .k_offsets = offsets
    };
    float *x[4];
    double exact[3][13 * 16], want[13 * 16];
    band_inputs(&c, x);
    for (int i = 0; i < 3 * 13 * 16; i++) {
        exact[i / 208][i % 208] = (double)x[i / 208][i % 208];
    }
    oracle_attention(want, NULL, exact[0], exact[1], exact[2], &s);
    EACH_SCHEDULE(rt)
    {
        for (c.window = 17; c.window > 0; c.window = c.window == 17 ? 2147483647 : 0) {
            band_result r;
            band_run(rt, &c, x[0], x[1], x[2], NULL, &r);
            check_close("full attention", r.o, want, 208, 5e-6);
            band_result_fini(&r);
        }
    }
    band_inputs_free(x);
}

/* NaN in one token reaches the window around it and nothing else. */
DEVICE_TEST(band_attention, is_local)
{
    enum { T = 50, AT = 29, R = 5, D = 8 };
    const band_case c = { 2, { 28, 22 }, .H = 1, .d = D, .window = 2 * R + 1 };
    float *x[4];
    band_inputs(&c, x);
    EACH_SCHEDULE(rt)
    {
        band_result clean, r;
        band_run(rt, &c, x[0], x[1], x[2], x[3], &clean);
        float *bad[3];
        for (int i = 0; i < 3; i++) {
            bad[i] = malloc((size_t)band_size(&c) * 4);
            memcpy(bad[i], x[i], (size_t)band_size(&c) * 4);
            for (int j = 0; j < D; j++) {
                bad[i][AT * D + j] = NAN;
            }
        }
        band_run(rt, &c, bad[0], bad[1], bad[2], x[3], &r);
        for (int n = 0; n < T; n++) {
            // the token's sequence starts at 28
            const bool near = n >= 28 && abs(n - AT) <= R;
            const bool touched = n >= 28 && abs(n - AT) <= 2 * R; // through the softmax
            for (int64_t j = (int64_t)n * D; j < (int64_t)n * D + D; j++) {
                cr_assert(near ? isnan(r.o[j]) : r.o[j] == clean.o[j],
                          "token %d of o: %g, was %g", n, (double)r.o[j],
                          (double)clean.o[j]);
                cr_assert(touched || (r.dq[j] == clean.dq[j] &&
                                      r.dk[j] == clean.dk[j] && r.dv[j] == clean.dv[j]),
                          "token %d of the gradients", n);
            }
        }
        for (int i = 0; i < 3; i++) {
            free(bad[i]);
        }
        band_result_fini(&clean);
        band_result_fini(&r);
    }
    band_inputs_free(x);
}

/* Rows of the map sum to 1 and are 0 outside the window; a constant V is the result. */
DEVICE_TEST(band_attention, weights_are_a_distribution)
{
    const band_case c = { 2, { 13, 6 }, .H = 2, .d = 8, .window = 5, .causal = true };
    float *x[4];
    band_inputs(&c, x);
    for (int i = 0; i < band_size(&c); i++) {
        x[2][i] = 3.7f;
    }
    EACH_SCHEDULE(rt)
    {
        band_result r;
        band_run(rt, &c, x[0], x[1], x[2], NULL, &r);
        for (int i = 0; i < band_size(&c); i++) {
            band_close("constant", (double)r.o[i], (double)3.7f, 1e-6);
        }
        for (int row = 0; row < 2 * 2 * 13; row++) {
            const int i = row % 13, T = c.lengths[row / 26];
            double sum = 0;
            for (int j = 0; j < 13; j++) {
                const float weight = r.map[row * 13 + j];
                const bool seen = i < T && j <= i && j >= i - 2;
                cr_assert(seen ? weight > 0 : weight == 0, "map[%d,%d] = %g", row, j,
                          (double)weight);
                sum += (double)weight;
            }
            band_close("row sum", sum, i < T ? 1 : 0, 1e-5);
        }
        band_result_fini(&r);
    }
    band_inputs_free(x);
}

/* A sentence has the same results alone and anywhere in a batch. */
DEVICE_TEST(band_attention, independent_of_batch)
{
    const band_case batch = { 3, { 5, 14, 21 }, .H = 2, .d = 8, .window = 7 };
    const band_case alone = { 1, { 14 }, .H = 2, .d = 8, .window = 7 };
    float *x[4];
    band_inputs(&batch, x);
    EACH_SCHEDULE(rt)
    {
        band_result all, one;
        const int at = 5 * 16, size = 14 * 16;
        band_run(rt, &batch, x[0], x[1], x[2], x[3], &all);
        band_run(rt, &alone, x[0] + at, x[1] + at, x[2] + at, x[3] + at, &one);
        for (int i = 0; i < size; i++) {
            band_close("o", (double)one.o[i], (double)all.o[at + i], 1e-6);
            band_close("dq", (double)one.dq[i], (double)all.dq[at + i], 2e-6);
            band_close("dk", (double)one.dk[i], (double)all.dk[at + i], 2e-6);
            band_close("dv", (double)one.dv[i], (double)all.dv[at + i], 2e-6);
        }
        band_result_fini(&all);
        band_result_fini(&one);
    }
    band_inputs_free(x);
}

/* q, k and v may be one tensor; its gradient is the sum of their three. */
DEVICE_TEST(band_attention, one_tensor_for_all)
{
    const band_case c = { 1, { 40 }, .H = 2, .d = 8, .window = 5 };
    const int64_t shape[3] = { 40, 2, 8 };
    float *x[4], got[640];
    band_inputs(&c, x);
    EACH_SCHEDULE(rt)
    {
        band_result r;
        band_run(rt, &c, x[0], x[0], x[0], x[3], &r);
        cla_tensor *t = NULL, *dy = NULL, *o = NULL;
        cla_tape *tape = test_tape(rt, true);
        cla_ragged *rows = test_ragged(rt, 1, c.lengths, NULL);
        TEST_OK(cla_tensor_new(&t, rt, CLA_F32, 3, shape));
        TEST_OK(cla_tensor_new(&dy, rt, CLA_F32, 3, shape));
        TEST_OK(cla_tensor_upload(t, x[0]));
        TEST_OK(cla_tensor_upload(dy, x[3]));
        cla_tensor_want_grad(t, true);
        TEST_OK(cla_band_attention(tape, &o, t, t, t, rows, 5, NULL));
        TEST_OK(cla_tape_seed(tape, o, dy));
        TEST_OK(cla_tape_backward(tape));
        TEST_OK(cla_tensor_download(cla_tensor_grad(t), got));
        for (int i = 0; i < 640; i++) {
            band_close("gradient", (double)got[i],
                       (double)(r.dq[i] + r.dk[i] + r.dv[i]), 5e-6);
        }
        cla_tape_free(&tape);
        cla_ragged_free(&rows);
        cla_tensor_free(&t);
        cla_tensor_free(&dy);
        band_result_fini(&r);
    }
    band_inputs_free(x);
}

/* The backward pass makes only the gradients that are wanted. */
DEVICE_TEST(band_attention, skips_unwanted_gradients)
{
    const int lengths[] = { 20 };
    const int64_t shape[3] = { 20, 1, 8 };
    EACH_SCHEDULE(rt)
    {
        for (int wanted = 0; wanted < 3; wanted++) {
            cla_tensor *x[3], *o = NULL;
            cla_tape *tape = test_tape(rt, true);
            cla_ragged *rows = test_ragged(rt, 1, lengths, NULL);
            for (int i = 0; i < 3; i++) {
                TEST_OK(cla_tensor_new(&x[i], rt, CLA_F32, 3, shape));
                TEST_OK(cla_tensor_fill(x[i], 0.5f));
                cla_tensor_want_grad(x[i], i == wanted);
            }
            TEST_OK(cla_band_attention(tape, &o, x[0], x[1], x[2], rows, 5, NULL));
            test_backward(tape, o);
            TEST_OK(cla_memory_check_guards(rt));
            for (int i = 0; i < 3; i++) {
                cr_assert((cla_tensor_grad(x[i]) != NULL) == (i == wanted));
                cla_tensor_free(&x[i]);
            }
            cla_tape_free(&tape);
            cla_ragged_free(&rows);
        }
    }
}

DEVICE_TEST(band_attention, refuses)
{
    const int lengths[] = { 3 }, longer[] = { 4 };
    cla_ragged *rows = test_ragged(rt, 1, lengths, NULL);
    cla_ragged *other = test_ragged(rt, 1, longer, NULL);
    const cla_attention_options certain = { .dropout = 1 };
    cla_tensor *o = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 3, 2, 8 }, NULL);
    TEST_FAILS(cla_band_attention(tape, &o, x, x, x, rows, 10, NULL), CLA_E_USAGE,
               "band_attention: window is 10, must be odd");
    TEST_FAILS(cla_band_attention(tape, &o, x, x, x, rows, -1, NULL), CLA_E_USAGE,
               "window is -1");
    TEST_FAILS(cla_band_attention(tape, &o, x, x, x, other, 3, NULL), CLA_E_SHAPE,
               "band_attention: q is [3,2,8]");
    TEST_FAILS(cla_band_attention(tape, &o, x, x, x, rows, 3, &certain), CLA_E_USAGE,
               "dropout is 1");
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
    cla_ragged_free(&other);
}
