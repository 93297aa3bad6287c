/* char_cnn.c - device against oracle: values, gradients, refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

typedef struct words {
    int lengths[6], B;
    int taps, in, out;
    const int32_t *len; // NULL: all rows count
    bool without_bias;
    int32_t *offsets;
    cla_ragged *rows;
    cla_tensor *device_len;
} words;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const words *c = context;
    return cla_char_cnn(tape, y, x[0], x[1], c->without_bias ? NULL : x[2], c->rows,
                        c->device_len);
}

static void oracle(double *y, double *const *x, void *context)
{
    const words *c = context;
    oracle_char_cnn(y, x[0], x[1], c->without_bias ? NULL : x[2], c->B, c->offsets,
                    c->len, c->taps, c->in, c->out);
}

static void upload_lengths(cla_runtime *rt, words *c)
{
    if (c->len) {
        TEST_OK(cla_tensor_new(&c->device_len, rt, CLA_I32, 1, (int64_t[]){ c->B }));
        TEST_OK(cla_tensor_upload(c->device_len, c->len));
    }
}

/* A sum of taps * in products, weights scaled to keep results near 1: eps sqrt(n), n up
 * to 320. */
static const double BAR = 5e-6;

/* Few results in each case: a finite difference that steps over a kink of a maximum is
 * no slope. */
Test(char_cnn, matches_oracle_and_gradient)
{
    static const int32_t some[] = { 4, 0, 20, 1 };
    words cases[] = {
        { { 1 }, 1, .taps = 1, .in = 1, .out = 1 },
        { { 3, 0, 1, 7 }, 4, .taps = 5, .in = 3, .out = 5 },
        { { 20, 20, 20, 20 }, 4, .taps = 5, .in = 64, .out = 64, .len = some },
        { { 13, 2 }, 2, .taps = 5, .in = 33, .out = 24 },
        { { 6, 6 }, 2, .taps = 4, .in = 7, .out = 70 },
        { { 2, 3 }, 2, .taps = 9, .in = 17, .out = 16, .without_bias = true },
        { { 0, 0 }, 2, .taps = 3, .in = 4, .out = 4 },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        words *c = &cases[i];
        c->rows = test_ragged(rt, c->B, c->lengths, &c->offsets);
        upload_lengths(rt, c);
        const int N = (int)cla_ragged_tokens(c->rows);
        if (!test_small() || N * c->taps * c->in * c->out < 100000) {
            op_case op = {
                .in = { { "x", 2, { N, c->in } },
                        { "w", 3, { c->taps, c->in, c->out }, .scale = 0.1f },
                        { "b", 1, { c->out }, .constant = c->without_bias } },
                .inputs = 3,
                .rank = 2,
                .shape = { c->B, c->out },
                .device = device,
                .oracle = oracle,
                .context = c,
                .bar = BAR,
            };
            snprintf(op.name, sizeof op.name, "char_cnn B%d N%d K%d %d to %d", c->B, N,
                     c->taps, c->in, c->out);
            check_op(rt, &op);
        }
        cla_tensor_free(&c->device_len);
        cla_ragged_free(&c->rows);
        free(c->offsets);
    }
    cla_runtime_free(&rt);
}

/* Rows that look alike, as padding does: the first has the gradient. */
Test(char_cnn, first_of_equals_has_the_gradient)
{
    static const int lengths[] = { 4 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 1, lengths, NULL);
    cla_tensor *x = NULL, *w = NULL, *y = NULL;
    float got[4];
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 4, 1 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 3, (int64_t[]){ 1, 1, 1 }));
    TEST_OK(cla_tensor_upload(x, (float[]){ 1, 2, 2, 2 }));
    TEST_OK(cla_tensor_fill(w, 3));
    cla_tensor_want_grad(x, true);
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_tape *tape = NULL;
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        cla_tensor_clear_grad(x);
        TEST_OK(cla_tape_new(&tape, rt, true));
        TEST_OK(cla_char_cnn(tape, &y, x, w, NULL, rows, NULL));
        TEST_OK(cla_tape_seed(tape, y, NULL));
        TEST_OK(cla_tape_backward(tape));
        TEST_OK(cla_tensor_download(cla_tensor_grad(x), got));
        check_close("equals", got, (double[]){ 0, 3, 0, 0 }, 4, 0);
        cla_tape_free(&tape);
    }
    cla_tensor_free(&w);
    cla_tensor_free(&x);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}

Test(char_cnn, refuses)
{
    static const int lengths[] = { 2, 3 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, lengths, NULL);
    cla_tensor *x = NULL, *w = NULL, *b = NULL, *len = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 5, 3 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 3, (int64_t[]){ 5, 3, 2 }));
    TEST_OK(cla_tensor_new(&b, rt, CLA_F32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tensor_new(&len, rt, CLA_I32, 1, (int64_t[]){ 5 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_char_cnn(tape, &y, x, w, NULL, NULL, NULL), CLA_E_USAGE,
               "char_cnn: rows is NULL");
    TEST_FAILS(cla_char_cnn(tape, &y, w, w, NULL, rows, NULL), CLA_E_SHAPE,
               "x is [5,3,2], must be [5,*]");
    TEST_FAILS(cla_char_cnn(tape, &y, x, w, b, rows, NULL), CLA_E_SHAPE,
               "b is [3], must be [2]");
    TEST_FAILS(cla_char_cnn(tape, &y, x, w, NULL, rows, len), CLA_E_SHAPE,
               "len is [5], must be [2]");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&len);
    cla_tensor_free(&b);
    cla_tensor_free(&w);
    cla_tensor_free(&x);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
