/* conv_fft.c - the FFT form against the oracle, and its errors. */
#include "ops/conv_fft.h"

#include <stdlib.h>

#include "support/check_kind.h"

static const char *const lines[] = {
    "rows=13,0,20 H=3 d=8 kh=5 kw=5 activation=1",
    "rows=21,1 H=3 d=24 kh=3 kw=7 activation=2 medium",
    "rows=24,17 H=2 d=72 kh=1 kw=1 medium",
    // more pairs of a sequence and a head than a batch holds
    "rows=4,9,1,20,3,0,11,7,2,5 H=9 d=8 kh=7 kw=3 activation=1 medium",
    "rows=4,9 H=2 d=8 kh=31 kw=31 medium", NULL
};

/* A transform and back leaves some eps of the largest entry, 1, in every entry of a
 * map; products with v add the root of T of them. */
static kind_table table_of(const char *const *rows)
{
    return (kind_table){ .lines = { "conv_attention_2d", "method=2", NULL },
                         .rows = rows,
                         .scale = { [3] = 0.2f },
                         .bar = 1e-5 };
}

DEVICE_TEST(conv_fft, matches_oracle_and_gradient)
{
    const kind_table table = table_of(lines);
    if (cla_fft_built()) { // and check_kind used the FFT
        cla_fft *fft = NULL;
        check_kind(rt, &table);
        TEST_OK(cla_fft_get(&fft, rt, 24, 16));
        cr_assert_eq(fft->state, CLA_FFT_WORKS);
    }
}

/* Plans that fail their trial are replaced by the direct form. */
DEVICE_TEST(conv_fft, falls_back)
{
    const kind_table one =
        table_of((const char *const[]){ "rows=11 H=1 d=8 kh=3 kw=3", NULL });
    cla_fft *fft = NULL;
    if (cla_fft_built()) {
        TEST_OK(cla_fft_get(&fft, rt, cla_fft_side(12), 1));
        cr_assert_eq(fft->state, CLA_FFT_NEW);
        fft->line++; // not the line of the library's plan
        check_kind(rt, &one);
        cr_assert_eq(fft->state, CLA_FFT_BROKEN);
    }
}

/* A transform spreads a NaN over its own map, of a sequence and a head, and no
 * other. */
DEVICE_TEST(conv_fft, keeps_nan_in_its_map)
{
    enum { H = 2, D = 2, T = 11, OTHERS = 4, N = T + OTHERS, SIZE = N * H * D };
    float *x = test_random(SIZE, 1, 1), *w = test_random(H * 9, 1, 2), y[SIZE];
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ T, OTHERS }, NULL);
    for (int input = 0; input < 3 && cla_fft_built(); input++) {
        cla_tape *tape = test_tape(rt, true);
        cla_tensor *q[3], *o = NULL;
        for (int i = 0; i < 3; i++) {
            const float kept = x[0];
            x[0] = i == input ? NAN : kept; // token 0, head 0
            q[i] = test_tensor(tape, CLA_F32, 3, (int64_t[]){ N, H, D }, x);
            cla_tensor_want_grad(q[i], true);
            x[0] = kept;
        }
        cla_tensor *taps = test_tensor(tape, CLA_F32, 3, (int64_t[]){ H, 3, 3 }, w);
        cla_tensor *b =
            test_tensor(tape, CLA_F32, 1, (int64_t[]){ H }, (float[H]){ 0 });
        TEST_OK(cla_conv_attention_2d(tape, &o, q[0], q[1], q[2], taps, b, rows,
                                      CLA_TANH, CLA_CONV_FFT, NULL));
        test_backward(tape, o);
        const cla_tensor *of[] = { o, cla_tensor_grad(q[0]), cla_tensor_grad(q[1]),
                                   cla_tensor_grad(q[2]) };
        for (int n = 0; n < 4; n++) {
            int lost = 0;
            TEST_OK(cla_tensor_download(of[n], y));
            for (int i = 0; i < SIZE; i++) {
                const bool own = i < T * H * D && i / D % H == 0;
                cr_assert(own || isfinite(y[i]), "input %d, of %d: [%d] is %g", input,
                          n, i, (double)y[i]);
                lost += isnan(y[i]);
            }
            cr_assert(lost || (n == 3 && input == 2), "input %d, of %d: no NaN", input,
                      n);
        }
        cla_tape_free(&tape);
    }
    cla_ragged_free(&rows);
    free(x);
    free(w);
}

/* Sides are products of small primes, not much larger than asked for, and few. */
Test(conv_fft, rounds_to_few_sides)
{
    if (!cla_fft_built()) {
        cr_assert_eq(cla_fft_side(1), 0);
        return;
    }
    int different = 0, last = 0;
    for (int least = 1; least <= 4096; least++) {
        const int side = cla_fft_side(least);
        int rest = side;
        for (int prime = 2; prime <= 7; prime++) {
            while (rest % prime == 0) {
                rest /= prime;
            }
        }
        cr_assert(side >= least && rest == 1 &&
                      (least < 16 || 4 * side <= 5 * least + 8),
                  "%d becomes %d", least, side);
        different += side != last;
        last = side;
    }
    cr_assert_leq(different, 48);
    cr_assert_eq(cla_fft_side(4097), 0);
}

DEVICE_TEST(conv_fft, refuses)
{
    cla_fft *fft = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *o = NULL;
    const int length = 4100;
    cla_ragged *rows = test_ragged(rt, 1, &length, NULL);
    cla_tensor *x = test_tensor(tape, CLA_F32, 3, (int64_t[]){ length, 1, 1 }, NULL);
    cla_tensor *w = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 1, 3, 3 }, NULL);
    cla_tensor *b = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 1 }, NULL);
    if (cla_fft_built()) {
        TEST_FAILS(cla_conv_attention_2d(tape, &o, x, x, x, w, b, rows, CLA_RELU,
                                         CLA_CONV_FFT, NULL),
                   CLA_E_SHAPE, "4100 tokens is too long for FFT");
        TEST_FAILS(cla_fft_get(&fft, rt, 17, 2), CLA_E_DEVICE, "2 maps of 17x17");
        cr_assert_eq(fft->state, CLA_FFT_BROKEN);
    } else {
        TEST_FAILS(cla_conv_attention_2d(tape, &o, x, x, x, w, b, rows, CLA_RELU,
                                         CLA_CONV_FFT, NULL),
                   CLA_E_USAGE, "no clFFT");
    }
    TEST_FAILS(cla_conv_attention_2d(tape, &o, x, x, x, w, b, rows, CLA_RELU,
                                     (cla_conv_method)9, NULL),
               CLA_E_USAGE, "method is 9");
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
