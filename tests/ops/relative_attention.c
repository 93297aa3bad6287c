/* relative_attention.c - device against oracle: values, gradients, dropout, map, laws,
 * refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check_kind.h"

/* A score's rounding is about sqrt(d) eps, at most 1e-6, and a distance adds one of the
 * same size; exp adds 2e-7; values reach 4, and vectors of distances as much again. */
static const double BAR = 5e-6;

/* All cases have one width and a long sequence, and run in one process, as each width
 * and each height of a tile compiles three kernels. Windows are narrower and wider than
 * tiles, blocks and sentences; lengths are several tiles and several blocks. With one
 * distance, rel_k cancels in the softmax: its gradient is rounding. */
static const kind_table cases = {
    .lines = { .op = "relative_attention" },
    .rows =
        (const char *const[]){
            "q_rows=4,4 k_rows=5,7 H=1 d=3 R=1 dropout=0.3 tiny",
            "q_rows=4,3 k_rows=5,3 H=2 Hr=2 d=3 R=1 tiny",
            "q_rows=4,17 k_rows=5,18 H=1 d=20 R=1 dropout=0.3 medium",
            "q_rows= k_rows= H=2 d=20 R=2 medium",
            "q_rows=0,0 k_rows=0,0 H=2 d=20 R=1 medium",
            "q_rows=1,17 k_rows=1,17 H=1 d=20 R=0 const=rel_k medium",
            "q_rows=4,0,3,17,1,2 k_rows=4,0,3,17,1,2 H=2 d=20 R=2 medium",
            "q_rows=1,0,18 k_rows=1,0,18 H=2 d=20 R=20 causal=1 medium",
            "q_rows=1,18,3,0 k_rows=7,19,0,3 H=2 d=20 R=1 medium",
            "q_rows=9,1,35 k_rows=9,1,35 H=2 d=20 R=16 columns medium",
            "q_rows=19,33 k_rows=19,33 H=2 d=20 R=7 dropout=0.1 medium",
            "q_rows=33,17 k_rows=33,17 H=2 d=20 R=4 causal=1 medium",
            "q_rows=131,70 k_rows=131,70 H=1 d=20 R=3 large",
            "q_rows=4,0,17 k_rows=5,0,18 H=2 Hr=2 d=20 R=2 dropout=0.2 medium",
            "q_rows=9,1,35 k_rows=9,1,35 H=3 Hr=3 d=20 R=7 causal=1 columns medium",
            "q_rows=21,131 k_rows=21,131 H=1 d=20 R=80 medium",
            "q_rows=40,37 k_rows=103,31 H=1 d=20 R=16 causal=1 medium", NULL },
    .bar = BAR,
};

Test(relative_attention, matches_oracle_and_gradient)
{
    check_kind_cases(&cases);
}

/* The tolerance is that of weights, at most 1. */
static const kind_table maps = {
    .lines = { "relative_attention", "-o +map", NULL },
    .rows =
        (const char *const[]){
            "q_rows=4,0,3 k_rows=4,0,3 H=2 d=3 R=1 causal=1 tiny",
            "q_rows=17,0,3 k_rows=17,0,3 H=2 d=20 R=1 causal=1 medium",
            "q_rows=7,19 k_rows=7,19 H=2 d=20 R=5 dropout=0.2 medium",
            "q_rows=7,19 k_rows=7,19 H=2 Hr=2 d=20 R=5 medium", NULL },
    .bar = 2e-6,
    .constant = "*",
};

Test(relative_attention, shows_its_map)
{
    check_kind_cases(&maps);
}

/* ---- laws ------------------------------------------------------------------------ */

enum { N = 19, HEADS = 2, WIDTH = 20, SIZE = N * HEADS * WIDTH, ROWS = 2 * N + 1 };

typedef struct law {
    cla_ragged *rows;
    cla_tensor *x[5]; // q, k, v, rel_k, rel_v
    cla_tape *tape;
} law;

static void law_begin(law *l, cla_runtime *rt, int R)
{
    static const int lengths[] = { N };
    *l = (law){ .rows = test_ragged(rt, 1, lengths, NULL) };
    for (int i = 0; i < 5; i++) {
        const int64_t packed[] = { N, HEADS, WIDTH }, table[] = { 2 * R + 1, WIDTH };
        float *x = test_random(i < 3 ? SIZE : (int64_t)ROWS * WIDTH, 1, (uint32_t)i);
        TEST_OK(cla_tensor_new(&l->x[i], rt, CLA_F32, i < 3 ? 3 : 2,
                               i < 3 ? packed : table));
        TEST_OK(cla_tensor_upload(l->x[i], x));
        free(x);
    }
    TEST_OK(cla_tape_new(&l->tape, rt, true));
}

static void law_end(law *l)
{
    cla_tape_free(&l->tape);
    for (int i = 0; i < 5; i++) {
        cla_tensor_free(&l->x[i]);
    }
    cla_ragged_free(&l->rows);
}

static void law_run(law *l, float *o, bool plain)
{
    cla_tensor *y = NULL, **x = l->x;
    if (plain) {
        TEST_OK(cla_attention(l->tape, &y, x[0], x[1], x[2], l->rows, l->rows, NULL));
    } else {
        TEST_OK(cla_relative_attention(l->tape, &y, x[0], x[1], x[2], x[3], x[4],
                                       l->rows, l->rows, NULL));
    }
    TEST_OK(cla_tensor_download(y, o));
}

static void check_same(const char *what, const float *got, const float *expected)
{
    double want[SIZE];
    for (int i = 0; i < SIZE; i++) {
        want[i] = (double)expected[i];
    }
    check_close(what, got, want, SIZE, BAR);
}

/* Checks that tables of zeros give plain attention, and that a single key vector for
 * all distances does, too; its value vector is added to every result. */
static void check_neutral(cla_runtime *rt)
{
    law l;
    float got[SIZE], plain[SIZE], vector[WIDTH];
    law_begin(&l, rt, 3);
    TEST_OK(cla_tensor_fill(l.x[3], 0));
    TEST_OK(cla_tensor_fill(l.x[4], 0));
    law_run(&l, got, false);
    law_run(&l, plain, true);
    check_same("zeros", got, plain);
    law_end(&l);

    law_begin(&l, rt, 0);
    law_run(&l, got, false);
    law_run(&l, plain, true);
    TEST_OK(cla_tensor_download(l.x[4], vector));
    for (int i = 0; i < SIZE; i++) {
        plain[i] += vector[i % WIDTH];
    }
    check_same("one distance", got, plain);
    law_end(&l);
}

/* Checks that distances of N and more, which never occur, have no gradient, and that
 * the others have one. */
static void check_untouched(cla_runtime *rt)
{
    law l;
    static float grad[ROWS * WIDTH];
    cla_tensor *o = NULL;
    law_begin(&l, rt, N);
    cla_tensor_want_grad(l.x[3], true); // alone: q, k and v are frozen
    cla_tensor_want_grad(l.x[4], true);
    TEST_OK(cla_relative_attention(l.tape, &o, l.x[0], l.x[1], l.x[2], l.x[3], l.x[4],
                                   l.rows, l.rows, NULL));
    TEST_OK(cla_tape_seed(l.tape, o, l.x[0]));
    TEST_OK(cla_tape_backward(l.tape));
    for (int table = 3; table < 5; table++) {
        TEST_OK(cla_tensor_download(cla_tensor_grad(l.x[table]), grad));
        for (int n = 0; n < ROWS; n++) {
            double size = 0;
            for (int c = 0; c < WIDTH; c++) {
                size += fabs((double)grad[n * WIDTH + c]);
            }
            const bool occurs = n > 0 && n < ROWS - 1;
            cr_assert(occurs ? size > 1e-6 : size == 0, "row %d of %d: %g", n, table,
                      size);
        }
    }
    law_end(&l);
}

/* Runs under the device's own schedule; the cases above compare both with the
 * oracle. */
Test(relative_attention, keeps_its_laws)
{
    if (test_small()) {
        return;
    }
    cla_runtime *rt = test_runtime();
    check_neutral(rt);
    check_untouched(rt);
    cla_runtime_free(&rt);
}

/* ---- refusals -------------------------------------------------------------------- */

DEVICE_TEST(relative_attention, refuses)
{
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 2, 3 }, NULL);
    cla_tensor *o = NULL;
    cla_tape *tape = test_tape(rt, false);
    check_refusals(rt, &cases);
    cla_tensor *q = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 5, 2, 4 }, NULL);
    cla_tensor *r = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 5, 4 }, NULL);
    cla_tensor *even = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 6, 4 }, NULL);
#define CALL(q, rel_k, rel_v, options) \
    cla_relative_attention(tape, &o, q, q, q, rel_k, rel_v, rows, rows, options)
    const cla_attention_options drop = { .dropout = 1 };
    TEST_FAILS(CALL(q, NULL, r, NULL), CLA_E_USAGE, "rel_k is NULL");
    TEST_FAILS(CALL(q, r, NULL, NULL), CLA_E_USAGE, "rel_v is NULL");
    TEST_FAILS(CALL(q, r, r, &drop), CLA_E_USAGE, "dropout is 1");
    TEST_FAILS(CALL(r, r, r, NULL), CLA_E_SHAPE, "must be f32 [N,H,d]");
    TEST_FAILS(CALL(q, even, even, NULL), CLA_E_SHAPE,
               "rel_k is [6,4], must be [2R+1,4]");
    cla_tensor *heads = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 3, 5, 4 }, NULL);
    TEST_FAILS(CALL(q, heads, heads, NULL), CLA_E_SHAPE,
               "rel_k is [3,5,4], must be [2R+1,4] or [2,2R+1,4]");
    TEST_FAILS(CALL(q, heads, r, NULL), CLA_E_SHAPE, "rel_v is [5,4], must be [3,5,4]");
#undef CALL
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
