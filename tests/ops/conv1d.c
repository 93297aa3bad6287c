/* conv1d.c - device against oracle: values, gradients, refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

typedef struct conv {
    int lengths[6], sequences;
    int taps, in, out;
    cla_activation activation;
    bool without_bias;
    int32_t *offsets;
    cla_ragged *rows;
} conv;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const conv *c = context;
    return cla_conv1d(tape, y, x[0], x[1], c->without_bias ? NULL : x[2], c->rows,
                      c->activation);
}

static void oracle(double *y, double *const *x, void *context)
{
    const conv *c = context;
    oracle_conv1d(y, x[0], x[1], c->without_bias ? NULL : x[2], c->sequences,
                  c->offsets, c->taps, c->in, c->out, (int)c->activation);
}

/* A sum of taps * in products of size 1, weights scaled to keep results near 1: eps
 * sqrt(n) of it, n up to 700. */
static const double BAR = 5e-6;

/* ReLU only where results are few: a finite difference that steps over one of its kinks
 * is no slope. */
Test(conv1d, matches_oracle_and_gradient)
{
    conv cases[] = {
        { { 1 }, 1, .taps = 1, .in = 1, .out = 1 },
        { { 3, 0, 1, 7 }, 4, .taps = 5, .in = 3, .out = 5, .activation = CLA_RELU },
        { { 5, 13 }, 2, .taps = 3, .in = 16, .out = 16, .activation = CLA_TANH },
        {
            { 20, 20, 20, 20, 20, 20 },
            6,
            .taps = 5,
            .in = 64,
            .out = 64,
        },
        { { 33, 2, 64 }, 3, .taps = 5, .in = 33, .out = 24 },
        { { 6, 6 }, 2, .taps = 4, .in = 7, .out = 70, .activation = CLA_RELU },
        { { 2, 3 }, 2, .taps = 9, .in = 5, .out = 33, .without_bias = true },
        { { 700 }, 1, .taps = 3, .in = 8, .out = 8, .activation = CLA_TANH },
        { { 0, 0 }, 2, .taps = 3, .in = 4, .out = 4 },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        conv *c = &cases[i];
        c->rows = test_ragged(rt, c->sequences, c->lengths, &c->offsets);
        const int N = (int)cla_ragged_tokens(c->rows);
        const int products = N * c->taps * c->in * c->out;
        if (!(test_tiny() && products > 3000) && !(test_small() && products > 100000)) {
            op_case op = {
                .in = { { "x", 2, { N, c->in } },
                        { "w", 3, { c->taps, c->in, c->out }, .scale = 0.1f },
                        { "b", 1, { c->out }, .constant = c->without_bias } },
                .inputs = 3,
                .rank = 2,
                .shape = { N, c->out },
                .device = device,
                .oracle = oracle,
                .context = c,
                .bar = BAR,
            };
            snprintf(op.name, sizeof op.name, "conv1d N%d K%d %d to %d", N, c->taps,
                     c->in, c->out);
            check_op(rt, &op);
        }
        cla_ragged_free(&c->rows);
        free(c->offsets);
    }
    cla_runtime_free(&rt);
}

Test(conv1d, refuses)
{
    static const int lengths[] = { 2, 3 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, lengths, NULL);
    cla_tensor *x = NULL, *four = NULL, *w = NULL, *b = NULL, *none = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 5, 3 }));
    TEST_OK(cla_tensor_new(&four, rt, CLA_F32, 2, (int64_t[]){ 4, 3 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 3, (int64_t[]){ 5, 3, 2 }));
    TEST_OK(cla_tensor_new(&none, rt, CLA_F32, 3, (int64_t[]){ 0, 3, 2 }));
    TEST_OK(cla_tensor_new(&b, rt, CLA_F32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_conv1d(tape, &y, x, w, NULL, NULL, CLA_NONE), CLA_E_USAGE,
               "rows is NULL");
    TEST_FAILS(cla_conv1d(tape, &y, four, w, NULL, rows, CLA_NONE), CLA_E_SHAPE,
               "x is [4,3], must be [5,*]");
    TEST_FAILS(cla_conv1d(tape, &y, x, x, NULL, rows, CLA_NONE), CLA_E_SHAPE,
               "w is [5,3], must be [*,3,*]");
    TEST_FAILS(cla_conv1d(tape, &y, x, none, NULL, rows, CLA_NONE), CLA_E_SHAPE,
               "at least one tap");
    TEST_FAILS(cla_conv1d(tape, &y, x, w, b, rows, CLA_NONE), CLA_E_SHAPE,
               "b is [3], must be [2]");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&b);
    cla_tensor_free(&none);
    cla_tensor_free(&w);
    cla_tensor_free(&four);
    cla_tensor_free(&x);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
