/* conv_fft.c - the form by FFT against the definition, and its refusals. */
#include "ops/conv_fft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

enum { LENGTHS = 10 };

typedef struct fft_case {
    int H, d, kh, kw;
    cla_activation activation;
    int B, lengths[LENGTHS];
} fft_case;

typedef struct fft_run {
    fft_case of;
    cla_ragged *rows;
    int32_t *offsets;
} fft_run;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const fft_run *r = context;
    return cla_conv_attention_2d(tape, y, x[0], x[1], x[2], x[3], x[4], r->rows,
                                 r->of.activation, CLA_CONV_FFT, NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const fft_run *r = context;
    const fft_case *c = &r->of;
    oracle_conv_attention_2d(y, x[0], x[1], x[2], x[3], x[4], c->B, c->H, c->d,
                             r->offsets, c->kh, c->kw, (int)c->activation);
}

static void check_case(cla_runtime *rt, const fft_case *c)
{
    fft_run r = { .of = *c };
    r.rows = test_ragged(rt, c->B, c->lengths, &r.offsets);
    const int N = r.offsets[c->B];
    op_case op = {
        .in = { { "q", 3, { N, c->H, c->d } },
                { "k", 3, { N, c->H, c->d }, .column = true },
                { "v", 3, { N, c->H, c->d } },
                { "w", 3, { c->H, c->kh, c->kw }, .scale = 0.2f },
                { "b", 1, { c->H } } },
        .inputs = 5,
        .rank = 3,
        .shape = { N, c->H, c->d },
        .device = device,
        .oracle = oracle,
        .context = &r,
        // a transform and back leaves some eps of the largest entry, 1, in every entry
        // of a map; products with v add the root of T of them
        .bar = 1e-5,
    };
    snprintf(op.name, sizeof op.name, "FFT B%d T%d,%d H%d d%d k%dx%d act%d", c->B,
             c->lengths[0], c->lengths[1], c->H, c->d, c->kh, c->kw,
             (int)c->activation);
    check_op(rt, &op);
    cla_ragged_free(&r.rows);
    free(r.offsets);
}

Test(conv_fft, matches_oracle_and_gradient)
{
    static const fft_case cases[] = {
        { 3, 8, 5, 5, CLA_RELU, 3, { 13, 0, 20 } },
        { 3, 24, 3, 7, CLA_TANH, 2, { 21, 1 } },
        { 2, 72, 1, 1, CLA_NONE, 2, { 24, 17 } },
        // more pairs than a batch holds
        { 9, 8, 7, 3, CLA_RELU, 10, { 4, 9, 1, 20, 3, 0, 11, 7, 2, 5 } },
        { 2, 8, 31, 31, CLA_NONE, 2, { 4, 9 } },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases && cla_fft_built(); i++) {
        if (!test_small() || i == 0) check_case(rt, &cases[i]);
    }
    if (cla_fft_built()) { // and it was the transforms that did it
        cla_fft *fft = NULL;
        TEST_OK(cla_fft_get(&fft, rt, 24, 16));
        cr_assert_eq(fft->state, CLA_FFT_WORKS);
    }
    cla_runtime_free(&rt);
}

/* Plans that fail their trial: one warning, and the direct form. */
Test(conv_fft, falls_back)
{
    static const fft_case one = { 1, 8, 3, 3, CLA_NONE, 1, { 11 } };
    cla_runtime *rt = test_runtime();
    cla_fft *fft = NULL;
    if (cla_fft_built()) {
        TEST_OK(cla_fft_get(&fft, rt, cla_fft_side(12), 1));
        cr_assert_eq(fft->state, CLA_FFT_NEW);
        fft->line++; // the library was told otherwise
        check_case(rt, &one);
        cr_assert_eq(fft->state, CLA_FFT_BROKEN);
    }
    cla_runtime_free(&rt);
}

/* Sides are products of small primes, and not much larger than asked for. */
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

Test(conv_fft, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_fft *fft = NULL;
    cla_tape *tape = NULL;
    cla_tensor *x = NULL, *w = NULL, *b = NULL, *o = NULL;
    const int length = 4100;
    cla_ragged *rows = test_ragged(rt, 1, &length, NULL);
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 3, (int64_t[]){ length, 1, 1 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 3, (int64_t[]){ 1, 3, 3 }));
    TEST_OK(cla_tensor_new(&b, rt, CLA_F32, 1, (int64_t[]){ 1 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
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
    cla_tensor_free(&x);
    cla_tensor_free(&w);
    cla_tensor_free(&b);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
