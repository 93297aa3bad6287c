/* gru.c - device against oracle: values, gradients, known answers, refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/bands.h"
#include "support/cells.h"

/* Sums of up to 180 products whose size is 1, and tanh with a relative error of 4e-7;
 * states are at most 1. */
static const kind_table table = {
    .lines = { .op = "gru" },
    .rows = cell_rows,
    .bar = 5e-6,
    .scale = { [1] = -1, [3] = -1 }, // 1 / root of the number of products
};

Test(gru, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

Test(gru, steps_in_large_and_small_tiles)
{
    check_steps(&table);
}

/* Known results for one token of width 2, printed to six digits. */
DEVICE_TEST(gru, known_answer)
{
    static const int one[] = { 1 };
    const int64_t state[] = { 1, 2 };
    cla_ragged *rows = test_ragged(rt, 1, one, NULL);
    cla_tensor *x = NULL, *h0 = NULL;
    cla_gru_weights w = { NULL };
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, state));
    TEST_OK(cla_tensor_new(&h0, rt, CLA_F32, 2, state));
    TEST_OK(cla_tensor_new(&w.w_g, rt, CLA_F32, 2, (int64_t[]){ 4, 4 }));
    TEST_OK(cla_tensor_new(&w.b_g, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&w.w_c, rt, CLA_F32, 2, (int64_t[]){ 4, 2 }));
    fill_sines(x, 3);
    fill_sines(h0, 4);
    fill_sines(w.w_g, 1);
    fill_sines(w.w_c, 2);
    TEST_OK(cla_tensor_fill(w.b_g, 1));
    EACH_SCHEDULE(rt)
    {
        cla_tape *tape = test_tape(rt, false);
        cla_tensor *y = NULL, *h = NULL;
        float got[4];
        const cla_recurrent_options options = { .h0 = h0, .h = &h };
        TEST_OK(cla_gru(tape, &y, x, &w, rows, &options));
        TEST_OK(cla_tensor_download(y, got));
        TEST_OK(cla_tensor_download(h, got + 2));
        check_close("known answer", got,
                    (double[]){ 0.890013, 0.623809, 0.890013, 0.623809 }, 4, 1e-6);
        cla_tape_free(&tape);
    }
    cla_tensor_free(&x);
    cla_tensor_free(&h0);
    cla_tensor_free(&w.w_g);
    cla_tensor_free(&w.b_g);
    cla_tensor_free(&w.w_c);
    cla_ragged_free(&rows);
}

DEVICE_TEST(gru, refuses)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_ragged *rows = test_ragged(rt, 1, (int[]){ 5 }, NULL);
    check_refusals(rt, &table);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 5, 3 }, NULL);
    TEST_FAILS(cla_gru(tape, &y, x, &(const cla_gru_weights){ .w_g = x }, rows,
                       &(cla_recurrent_options){ .c0 = x }),
               CLA_E_USAGE, "no cell");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
