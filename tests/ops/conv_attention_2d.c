/* conv_attention_2d.c - device against oracle: values, gradients, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

enum { LENGTHS = 4 };

typedef struct conv_case {
    int H, d, kh, kw;
    cla_activation activation;
    int B, lengths[LENGTHS];
    bool columns; // q, k, v cut out of a wider projection
} conv_case;

typedef struct conv_run {
    conv_case of;
    cla_ragged *rows;
    int32_t *offsets;
} conv_run;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const conv_run *c = context;
    return cla_conv_attention_2d(tape, y, x[0], x[1], x[2], x[3], x[4], c->rows,
                                 c->of.activation, CLA_CONV_DIRECT, NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const conv_run *r = context;
    const conv_case *c = &r->of;
    oracle_conv_attention_2d(y, x[0], x[1], x[2], x[3], x[4], c->B, c->H, c->d,
                             r->offsets, c->kh, c->kw, (int)c->activation);
}

/* A row of the map sums to 1, so a filter of n taps of deviation 1/sqrt(n) gives
 * entries below 1, to which the bias of about 1 is added: eps of it each. Products with
 * v take the root of T such errors together; and each sum of n or T terms adds some
 * eps. */
static double bar_of(const conv_case *c)
{
    int longest = 1;
    for (int i = 0; i < c->B; i++) {
        longest = c->lengths[i] > longest ? c->lengths[i] : longest;
    }
    return 5e-6 + 1e-6 * sqrt(longest);
}

static void check_case(cla_runtime *rt, const conv_case *c)
{
    conv_run r = { .of = *c };
    r.rows = test_ragged(rt, c->B, c->lengths, &r.offsets);
    const int N = r.offsets[c->B];
    const float taps = 1.0f / sqrtf((float)(c->kh * c->kw));
    // a difference quotient knows no kink: a bias that moves most entries away from it.
    // Heads that live in part are in the golden cases, which hold exact gradients
    const float bias = c->activation == CLA_RELU ? 1 : 0.02f;
    op_case op = {
        .in = { { "q", 3, { N, c->H, c->d }, .column = c->columns },
                { "k", 3, { N, c->H, c->d }, .column = c->columns },
                { "v", 3, { N, c->H, c->d }, .column = c->columns },
                { "w", 3, { c->H, c->kh, c->kw }, .scale = taps },
                { "b", 1, { c->H }, .scale = bias } },
        .inputs = 5,
        .rank = 3,
        .shape = { N, c->H, c->d },
        .device = device,
        .oracle = oracle,
        .context = &r,
        .bar = bar_of(c),
    };
    snprintf(op.name, sizeof op.name,
             "conv_attention_2d B%d T%d,%d H%d d%d k%dx%d act%d", c->B, c->lengths[0],
             c->B > 1 ? c->lengths[1] : 0, c->H, c->d, c->kh, c->kw,
             (int)c->activation);
    check_op(rt, &op);
    cla_ragged_free(&r.rows);
    free(r.offsets);
}

/* An item takes a head or more, and llvmpipe ends an item's loops after 65535 rounds in
 * all (docs/kernels.md): shapes that stay well below. */
static bool too_big(const conv_case *c)
{
    int longest = 0;
    for (int i = 0; i < c->B; i++) {
        longest = c->lengths[i] > longest ? c->lengths[i] : longest;
    }
    const int head = longest * longest * (c->d + c->kh * c->kw);
    return (test_tiny() && head * c->H > 3000) || (test_small() && head > 180000);
}

static void check_all(const conv_case *cases, size_t count)
{
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < count; i++) {
        if (!too_big(&cases[i])) check_case(rt, &cases[i]);
    }
    cla_runtime_free(&rt);
}

Test(conv_attention_2d, matches_oracle_and_gradient)
{
    static const conv_case cases[] = {
        { 1, 8, 3, 3, CLA_NONE, 1, { 1 }, false },
        { 2, 8, 3, 3, CLA_RELU, 3, { 5, 0, 3 }, false },
        { 2, 24, 3, 3, CLA_RELU, 2, { 33, 7 }, true },
        { 3, 24, 5, 5, CLA_TANH, 1, { 40 }, false },
        { 1, 72, 1, 1, CLA_RELU, 2, { 17, 1 }, false },
        { 2, 24, 3, 3, CLA_RELU, 4, { 31, 64, 0, 65 }, false },
        { 1, 91, 3, 3, CLA_TANH, 1, { 40 }, true },
        { 1, 72, 7, 7, CLA_RELU, 1, { 50 }, false },
        { 1, 256, 3, 3, CLA_NONE, 2, { 29, 4 }, false },
        { 1, 8, 3, 3, CLA_RELU, 1, { 200 }, false },
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

Test(conv_attention_2d, takes_any_filter)
{
    static const conv_case cases[] = {
        { 1, 8, 1, 3, CLA_RELU, 1, { 9 }, false },
        { 1, 8, 3, 1, CLA_RELU, 1, { 9 }, false },
        { 2, 8, 5, 9, CLA_TANH, 2, { 4, 20 }, false }, // wider than a sequence
        { 1, 8, 31, 31, CLA_NONE, 2, { 3, 11 }, false },
        { 1, 8, 31, 31, CLA_RELU, 1, { 70 }, false },
        { 2, 8, 31, 3, CLA_RELU, 2, { 45, 2 }, false },
        { 1, 8, 3, 31, CLA_TANH, 2, { 37, 1 }, false },
        { 1, 24, 15, 13, CLA_RELU, 1, { 66 }, false },
        { 1, 8, 9, 9, CLA_RELU, 0, { 0 }, false }, // no sequence
        { 2, 8, 3, 3, CLA_RELU, 2, { 0, 0 }, false },
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

/* ---- refusals ------------------------------------------------------------------ */

enum { TOKENS, FILTER, BIAS, EVEN, TALL, HEADS, TENSORS };

Test(conv_attention_2d, refuses)
{
    static const struct {
        int rank;
        int64_t shape[3];
    } shapes[TENSORS] = { { 3, { 5, 2, 8 } }, { 3, { 2, 3, 3 } },  { 1, { 2 } },
                          { 3, { 2, 3, 4 } }, { 3, { 2, 33, 3 } }, { 3, { 3, 3, 3 } } };
    static const cla_attention_options causal = { .causal = true },
                                       drop = { .dropout = 0.5f };
    static const struct {
        int q, w, b;
        cla_activation activation;
        const cla_attention_options *options;
        cla_status code;
        const char *part;
    } cases[] = {
        { BIAS, FILTER, BIAS, CLA_RELU, NULL, CLA_E_SHAPE, "q is f32 [2]" },
        { TOKENS, EVEN, BIAS, CLA_RELU, NULL, CLA_E_SHAPE,
          "w is [2,3,4]; its sides must be odd" },
        { TOKENS, TALL, BIAS, CLA_RELU, NULL, CLA_E_SHAPE, "at most 31" },
        { TOKENS, HEADS, BIAS, CLA_RELU, NULL, CLA_E_SHAPE,
          "w is [3,3,3], must be [2,*,*]" },
        { TOKENS, FILTER, FILTER, CLA_RELU, NULL, CLA_E_SHAPE,
          "b is [2,3,3], must be [2]" },
        { TOKENS, FILTER, BIAS, CLA_RELU, &causal, CLA_E_USAGE, "causal" },
        { TOKENS, FILTER, BIAS, CLA_RELU, &drop, CLA_E_USAGE, "dropout is 0.5" },
        { TOKENS, FILTER, BIAS, (cla_activation)7, NULL, CLA_E_USAGE,
          "activation is 7" },
    };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 2, 3 }, NULL);
    cla_tensor *t[TENSORS] = { NULL }, *o = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tape_new(&tape, rt, true));
    for (int i = 0; i < TENSORS; i++) {
        TEST_OK(cla_tensor_new(&t[i], rt, CLA_F32, shapes[i].rank, shapes[i].shape));
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_FAILS(cla_conv_attention_2d(tape, &o, t[cases[i].q], t[TOKENS], t[TOKENS],
                                         t[cases[i].w], t[cases[i].b], rows,
                                         cases[i].activation, CLA_CONV_DIRECT,
                                         cases[i].options),
                   cases[i].code, cases[i].part);
        cr_assert_null(o);
    }
    cla_tape_free(&tape);
    for (int i = 0; i < TENSORS; i++) {
        cla_tensor_free(&t[i]);
    }
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
