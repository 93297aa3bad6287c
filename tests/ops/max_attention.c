/* max_attention.c - device against oracle: rows summed by their best products. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/ham.h"
#include "oracle/oracle.h"
#include "support/support.h"

enum { SEQUENCES = 4 };

typedef struct max_case {
    int B, d;
    int T[SEQUENCES], S[SEQUENCES];
    // filled in by make
    int32_t *q_offsets, *k_offsets;
    cla_ragged *q_rows, *k_rows;
} max_case;

/* Runs that are full, one over, cut; rows without keys and the reverse. */
static const max_case CASES[] = {
    { .B = 1, .d = 1, .T = { 1 }, .S = { 1 } },
    { .B = 4, .d = 7, .T = { 5, 0, 3, 9 }, .S = { 3, 2, 0, 1 } },
    { .B = 2, .d = 24, .T = { 8, 17 }, .S = { 9, 16 } },
    { .B = 3, .d = 67, .T = { 70, 1, 33 }, .S = { 11, 5, 8 } },
    { .B = 2, .d = 300, .T = { 40, 20 }, .S = { 12, 7 } },
};

static void make(max_case *c, cla_runtime *rt)
{
    c->q_rows = test_ragged(rt, c->B, c->T, &c->q_offsets);
    c->k_rows = test_ragged(rt, c->B, c->S, &c->k_offsets);
}

static void fini(max_case *c)
{
    cla_ragged_free(&c->q_rows);
    cla_ragged_free(&c->k_rows);
    free(c->q_offsets);
    free(c->k_offsets);
}

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const max_case *c = context;
    return cla_max_attention(tape, y, x[0], x[1], c->q_rows, c->k_rows);
}

static void oracle(double *y, double *const *x, void *context)
{
    const max_case *c = context;
    const oracle_ham_shape shape = {
        .B = c->B, .d = c->d, .q_offsets = c->q_offsets, .k_offsets = c->k_offsets
    };
    oracle_max_attention(y, x[0], x[1], &shape);
}

Test(max_attention, matches_oracle_and_gradient)
{
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        max_case c = CASES[i];
        if ((test_small() && c.d > 100) || (test_tiny() && c.d > 7)) {
            continue;
        }
        make(&c, rt);
        op_case op = {
            .in = { { "q", 2, { c.q_offsets[c.B], c.d }, .scale = 0.5f },
                    { "k", 2, { c.k_offsets[c.B], c.d }, .scale = 0.5f } },
            .inputs = 2,
            .rank = 2,
            .shape = { c.B, c.d },
            .device = device,
            .oracle = oracle,
            .context = &c,
            // scores up to 20 err by some 1e-6, weights by e^score of that
            .bar = 4e-6,
        };
        snprintf(op.name, sizeof op.name, "max_attention %zu d%d", i, c.d);
        check_op(rt, &op);
        fini(&c);
    }
    cla_runtime_free(&rt);
}

/* Of two equal keys the first one has the whole gradient: for q = (1), (2) and keys 1,
 * 1 the scores are 1 and 2, and dk = sum of w_i (q_i - out) q_i. */
Test(max_attention, first_of_equal_keys_has_the_gradient)
{
    cla_runtime *rt = test_runtime();
    cla_tape *tape = NULL;
    cla_tensor *q = NULL, *k = NULL, *y = NULL;
    cla_ragged *rows = test_ragged(rt, 1, (int[]){ 2 }, NULL);
    float got[2];
    TEST_OK(cla_tensor_new(&q, rt, CLA_F32, 2, (int64_t[]){ 2, 1 }));
    TEST_OK(cla_tensor_new(&k, rt, CLA_F32, 2, (int64_t[]){ 2, 1 }));
    TEST_OK(cla_tensor_upload(q, (float[]){ 1, 2 }));
    TEST_OK(cla_tensor_upload(k, (float[]){ 1, 1 }));
    cla_tensor_want_grad(k, true);
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_OK(cla_max_attention(tape, &y, q, k, rows, rows));
    TEST_OK(cla_tape_seed(tape, y, NULL));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(y, got));
    check_close("out", got, (double[]){ 1.7310585786300049 }, 1, 1e-6);
    TEST_OK(cla_tensor_download(cla_tensor_grad(k), got));
    check_close("dk", got, (double[]){ 0.19661193324148188, 0 }, 2, 1e-6);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
    cla_tensor_free(&k);
    cla_tensor_free(&q);
    cla_runtime_free(&rt);
}

Test(max_attention, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tape *tape = NULL;
    cla_tensor *q = NULL, *k = NULL, *y = NULL;
    cla_ragged *rows = test_ragged(rt, 1, (int[]){ 4 }, NULL);
    cla_ragged *two = test_ragged(rt, 2, (int[]){ 4, 0 }, NULL);
    TEST_OK(cla_tensor_new(&q, rt, CLA_F32, 2, (int64_t[]){ 4, 6 }));
    TEST_OK(cla_tensor_new(&k, rt, CLA_F32, 2, (int64_t[]){ 4, 5 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_max_attention(tape, &y, q, k, rows, rows), CLA_E_SHAPE,
               "k is [4,5], must be [4,6]");
    TEST_FAILS(cla_max_attention(tape, &y, q, q, rows, two), CLA_E_SHAPE,
               "q has 1 sequences, k has 2");
    TEST_FAILS(cla_max_attention(tape, &y, NULL, k, rows, rows), CLA_E_SHAPE,
               "q is missing");
    TEST_FAILS(cla_max_attention(tape, &y, q, q, NULL, rows), CLA_E_USAGE,
               "q_rows is NULL");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_ragged_free(&two);
    cla_ragged_free(&rows);
    cla_tensor_free(&k);
    cla_tensor_free(&q);
    cla_runtime_free(&rt);
}
