/* lstm.c - device against oracle: values, gradients, known answers, refusals. */
#include "ops/lstm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/ops.h"
#include "oracle/oracle.h"
#include "support/bands.h"
#include "support/cells.h"

/* Sums of up to 180 products whose size is 1, and tanh with a relative error of 4e-7;
 * states are at most 1, cells a few. */
static const kind_table table = {
    .lines = { .op = "lstm" },
    .rows = cell_rows,
    .bar = 5e-6,
    .scale = { [1] = -1 }, // 1 / root of the number of products
};

Test(lstm, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

Test(lstm, steps_in_large_and_small_tiles)
{
    check_steps(&table);
}

/* Known results for one token of width 2, printed to six digits. */
DEVICE_TEST(lstm, known_answer)
{
    static const int one[] = { 1 };
    const int64_t state[] = { 1, 2 }, weights[] = { 4, 8 };
    cla_ragged *rows = test_ragged(rt, 1, one, NULL);
    cla_tensor *x = NULL, *h0 = NULL, *c0 = NULL, *w = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, state));
    TEST_OK(cla_tensor_new(&h0, rt, CLA_F32, 2, state));
    TEST_OK(cla_tensor_new(&c0, rt, CLA_F32, 2, state));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 2, weights));
    fill_sines(x, 3);
    fill_sines(h0, 4);
    fill_sines(c0, 5);
    fill_sines(w, 1);
    EACH_SCHEDULE(rt)
    {
        cla_tape *tape = test_tape(rt, false);
        cla_tensor *y = NULL, *h = NULL, *c = NULL;
        float got[6];
        const cla_recurrent_options options = { .h0 = h0, .c0 = c0, .h = &h, .c = &c };
        TEST_OK(cla_lstm(tape, &y, x, w, NULL, rows, &options));
        TEST_OK(cla_tensor_download(y, got));
        TEST_OK(cla_tensor_download(h, got + 2));
        TEST_OK(cla_tensor_download(c, got + 4));
        check_close("known answer", got,
                    (double[]){ -0.146916, -0.377140, -0.146916, -0.377140, -0.184384,
                                -0.457238 },
                    6, 1e-6);
        cla_tape_free(&tape);
    }
    cla_tensor_free(&x);
    cla_tensor_free(&h0);
    cla_tensor_free(&c0);
    cla_tensor_free(&w);
    cla_ragged_free(&rows);
}

/* Computes y [6,3] of a call without gradients. */
static void run(cla_runtime *rt, cla_tensor *x, cla_tensor *w, const cla_ragged *rows,
                float got[18])
{
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *y = NULL;
    TEST_OK(cla_lstm(tape, &y, x, w, NULL, rows, NULL));
    TEST_OK(cla_tensor_download(y, got));
    cla_tape_free(&tape);
}

/* Packed weights are renewed when the weights change. */
DEVICE_TEST(lstm, sees_new_weights)
{
    static const int lengths[] = { 4, 2 };
    cla_ragged *rows = test_ragged(rt, 2, lengths, NULL);
    cla_tensor *x = NULL, *w = NULL, *other = NULL;
    float *x_host = test_random(12, 1, 1), *w_host = test_random(60, 1, 2);
    float first[18], second[18], want[18];
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 6, 2 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 2, (int64_t[]){ 5, 12 }));
    TEST_OK(cla_tensor_new(&other, rt, CLA_F32, 2, (int64_t[]){ 5, 12 }));
    TEST_OK(cla_tensor_upload(x, x_host));
    TEST_OK(cla_tensor_upload(w, w_host));
    run(rt, x, w, rows, first);
    for (int i = 0; i < 60; i++) {
        w_host[i] *= 2;
    }
    TEST_OK(cla_tensor_upload(w, w_host));
    TEST_OK(cla_tensor_upload(other, w_host));
    run(rt, x, w, rows, second);
    run(rt, x, other, rows, want);
    cr_assert(memcmp(second, want, sizeof want) == 0);
    cr_assert(memcmp(first, want, sizeof want) != 0);
    free(x_host);
    free(w_host);
    cla_tensor_free(&x);
    cla_tensor_free(&w);
    cla_tensor_free(&other);
    cla_ragged_free(&rows);
}

/* A cell multiplies with the first rows of the weights, a product with all. The product
 * does not take the cell's packed weights for its own, whichever comes first. */
DEVICE_TEST(lstm, shares_its_weights_with_a_product)
{
    enum { ROWS = 300, ALL = 5, COLUMNS = 12, CELLS = COLUMNS / 4 };
    if (test_tiny()) return; // only products of many rows pack their weights
    static const int lengths[] = { ROWS };
    cla_ragged *rows = test_ragged(rt, 1, lengths, NULL);
    float *x_host = test_random(ROWS * ALL, 1, 1), *w_host = test_random(60, 1, 2);
    float *cell[2] = { calloc(ROWS * CELLS, sizeof **cell),
                       calloc(ROWS * CELLS, sizeof **cell) };
    double want[ALL * COLUMNS], eye[ALL * ALL] = { 0 }, w_wide[ALL * COLUMNS];
    for (int i = 0; i < ALL * COLUMNS; i++) {
        w_wide[i] = (double)w_host[i];
    }
    for (int i = 0; i < ALL; i++) {
        eye[i * ALL + i] = 1;
    }
    for (int i = 0; i < ALL * ALL; i++) {
        x_host[i] = (float)eye[i]; // the product's first rows are the weights
    }
    oracle_matmul(want, eye, w_wide, ALL, COLUMNS, ALL, false, false);
    EACH_SCHEDULE(rt)
    {
        for (int cell_first = 0; cell_first < 2; cell_first++) {
            cla_tape *tape = test_tape(rt, false);
            cla_tensor *x = NULL, *narrow = NULL, *w = NULL, *y = NULL;
            TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ ROWS, ALL }));
            TEST_OK(cla_tensor_new(&narrow, rt, CLA_F32, 2, (int64_t[]){ ROWS, 2 }));
            TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 2, (int64_t[]){ ALL, COLUMNS }));
            TEST_OK(cla_tensor_upload(x, x_host));
            TEST_OK(cla_tensor_upload(narrow, x_host));
            TEST_OK(cla_tensor_upload(w, w_host));
            for (int call = 0; call < 2; call++) {
                if (call == cell_first) {
                    TEST_OK(cla_linear(tape, &y, x, w, NULL, CLA_NONE, NULL));
                    check_tensor("all rows", y, want, (int64_t)ALL * COLUMNS, 1e-6);
                } else {
                    TEST_OK(cla_lstm(tape, &y, narrow, w, NULL, rows, NULL));
                    TEST_OK(cla_tensor_download(y, cell[cell_first]));
                }
            }
            cla_tape_free(&tape);
            cla_tensor_free(&x);
            cla_tensor_free(&narrow);
            cla_tensor_free(&w);
        }
        cr_assert_arr_eq(cell[0], cell[1], ROWS * CELLS * sizeof *cell[0]);
    }
    for (int i = 0; i < 2; i++) {
        free(cell[i]);
    }
    free(x_host);
    free(w_host);
    cla_ragged_free(&rows);
}

Test(lstm, refuses)
{
    check_kind_refuses(&table);
}

enum { BOTH_TOKENS = 11, BOTH_IN = 5, BOTH_N = 9 };

static void fill_waves(cla_tensor *t, double s)
{
    float x[(BOTH_IN + BOTH_N) * 4 * BOTH_N];
    for (int64_t k = 0; k < cla_tensor_size(t); k++) {
        x[k] = (float)sin(0.9 * (double)k + 0.37 * s);
    }
    TEST_OK(cla_tensor_upload(t, x));
}

/* Results y of both directions, then the gradients of x and of both weights. */
typedef struct both_result {
    float y[2][BOTH_TOKENS * BOTH_N], dx[BOTH_TOKENS * BOTH_IN];
    float dw[2][(BOTH_IN + BOTH_N) * 4 * BOTH_N];
} both_result;

static void run_both(cla_runtime *rt, both_result *out, const cla_ragged *rows,
                     bool at_once)
{
    cla_tape *tape = NULL;
    cla_tensor *x = NULL, *w[2] = { NULL }, *y[2] = { NULL }, *sum = NULL;
    cla_recurrent_options options[2] = { { .reverse = false }, { .reverse = true } };
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ BOTH_TOKENS, BOTH_IN }));
    fill_waves(x, 3);
    cla_tensor_want_grad(x, true);
    for (int i = 0; i < 2; i++) {
        const int64_t shape[] = { BOTH_IN + BOTH_N, 4 * BOTH_N };
        TEST_OK(cla_tensor_new(&w[i], rt, CLA_F32, 2, shape));
        fill_waves(w[i], 1 + 4 * i);
        cla_tensor_want_grad(w[i], true);
    }
    if (at_once) {
        const cla_lstm_weights weights[2] = { { w[0], NULL }, { w[1], NULL } };
        TEST_OK(cla_lstm_both(tape, y, x, weights, rows, options));
    }
    for (int i = 0; i < 2 && !at_once; i++) {
        TEST_OK(cla_lstm(tape, &y[i], x, w[i], NULL, rows, &options[i]));
    }
    TEST_OK(cla_multiply(tape, &sum, y[0], y[1]));
    TEST_OK(cla_tape_seed(tape, sum, NULL));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(x), out->dx));
    for (int i = 0; i < 2; i++) {
        TEST_OK(cla_tensor_download(y[i], out->y[i]));
        TEST_OK(cla_tensor_download(cla_tensor_grad(w[i]), out->dw[i]));
    }
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_tensor_free(&w[0]);
    cla_tensor_free(&w[1]);
}

/* Both directions at once give the same bits as one after the other. */
Test(lstm, both_directions_at_once)
{
    static const int lengths[] = { 3, 0, 7, 1 };
    static both_result apart, at_once;
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 4, lengths, NULL);
    EACH_SCHEDULE(rt)
    {
        for (int steps = 0; steps < 2; steps++) { // or walks, under the schedule group
            TEST_OK(cla_tuning_set(rt, "recurrent", "WALK", steps ? 0 : 192));
            run_both(rt, &apart, rows, false);
            run_both(rt, &at_once, rows, true);
            cr_assert(!memcmp(&apart, &at_once, sizeof apart));
            cr_assert_neq(apart.dx[0], 0);
        }
    }
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}

Test(lstm, both_directions_refuse_other_widths)
{
    static const int lengths[] = { 2 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 1, lengths, NULL);
    cla_tape *tape = NULL;
    cla_tensor *x = NULL, *w[2] = { NULL }, *y[2] = { NULL };
    const cla_recurrent_options options[2] = { { .reverse = true },
                                               { .reverse = false } };
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tensor_new(&w[0], rt, CLA_F32, 2, (int64_t[]){ 5, 8 }));
    TEST_OK(cla_tensor_new(&w[1], rt, CLA_F32, 2, (int64_t[]){ 6, 12 }));
    const cla_lstm_weights weights[2] = { { w[0], NULL }, { w[1], NULL } };
    TEST_FAILS(cla_lstm_both(tape, y, x, weights, rows, options), CLA_E_SHAPE,
               "directions of width 2 and 3");
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_tensor_free(&w[0]);
    cla_tensor_free(&w[1]);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
