/* depthwise_conv1d.c - device against oracle: values, gradients, refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

typedef struct conv {
    int lengths[4], sequences;
    int taps, channels;
    int32_t *offsets;
    cla_ragged *rows;
} conv;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const conv *c = context;
    return cla_depthwise_conv1d(tape, y, x[0], x[1], c->rows);
}

static void oracle(double *y, double *const *x, void *context)
{
    const conv *c = context;
    oracle_depthwise_conv1d(y, x[0], x[1], c->sequences, c->offsets, c->taps,
                            c->channels);
}

/* A sum of at most 9 products of size 1. */
static const double BAR = 1e-6;

Test(depthwise_conv1d, matches_oracle_and_gradient)
{
    conv cases[] = {
        { { 1 }, 1, .taps = 1, .channels = 1 },
        { { 5, 0, 3 }, 3, .taps = 3, .channels = 5 },
        { { 2, 9 }, 2, .taps = 4, .channels = 7 },
        { { 3, 1 }, 2, .taps = 9, .channels = 3 },
        { { 0 }, 1, .taps = 3, .channels = 4 },
        { { 40, 17, 60 }, 3, .taps = 7, .channels = 65 },
        { { 700 }, 1, .taps = 3, .channels = 9 },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        conv *c = &cases[i];
        c->rows = test_ragged(rt, c->sequences, c->lengths, &c->offsets);
        const int N = (int)cla_ragged_tokens(c->rows);
        const int products = N * c->taps * c->channels;
        if (!(test_tiny() && products > 400)) {
            op_case op = {
                .in = { { "x", 2, { N, c->channels } },
                        { "w", 2, { c->taps, c->channels } } },
                .inputs = 2,
                .rank = 2,
                .shape = { N, c->channels },
                .device = device,
                .oracle = oracle,
                .context = c,
                .bar = BAR,
            };
            snprintf(op.name, sizeof op.name, "depthwise_conv1d N%d K%d D%d", N,
                     c->taps, c->channels);
            check_op(rt, &op);
        }
        cla_ragged_free(&c->rows);
        free(c->offsets);
    }
    cla_runtime_free(&rt);
}

Test(depthwise_conv1d, refuses)
{
    static const int lengths[] = { 2, 3 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, lengths, NULL);
    cla_tensor *x = NULL, *four = NULL, *w = NULL, *none = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 5, 3 }));
    TEST_OK(cla_tensor_new(&four, rt, CLA_F32, 2, (int64_t[]){ 4, 3 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 2, (int64_t[]){ 5, 2 }));
    TEST_OK(cla_tensor_new(&none, rt, CLA_F32, 2, (int64_t[]){ 0, 3 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_depthwise_conv1d(tape, &y, x, w, NULL), CLA_E_USAGE, "rows is NULL");
    TEST_FAILS(cla_depthwise_conv1d(tape, &y, four, w, rows), CLA_E_SHAPE,
               "x is [4,3], must be [5,*]");
    TEST_FAILS(cla_depthwise_conv1d(tape, &y, x, w, rows), CLA_E_SHAPE,
               "w is [5,2], must be [*,3]");
    TEST_FAILS(cla_depthwise_conv1d(tape, &y, x, none, rows), CLA_E_SHAPE,
               "at least one tap");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&none);
    cla_tensor_free(&w);
    cla_tensor_free(&four);
    cla_tensor_free(&x);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
