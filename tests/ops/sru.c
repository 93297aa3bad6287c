/* sru.c - device against oracle: values, gradients, an open gate, refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/bands.h"
#include "support/cells.h"

/* Sums of up to 30 products whose size is 1, and tanh with a relative error of 4e-7;
 * cells are at most 1. */
static const kind_table table = {
    .lines = { .op = "sru" },
    .rows = cell_rows,
    .bar = 5e-6,
    .scale = { [1] = -1, [2] = -1 }, // 1 / root of the number of products
};

Test(sru, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

/* With an open reset gate the output is the cell. */
DEVICE_TEST(sru, open_reset_gives_the_cell)
{
    static const int lengths[] = { 3, 1, 0 };
    cla_ragged *rows = test_ragged(rt, 3, lengths, NULL);
    cla_tensor *x = NULL;
    cla_sru_weights w = { NULL };
    float *x_host = test_random(8, 1, 1), *w_host = test_random(10, 1, 2);
    const float zeros[20] = { 0 }, b_host[10] = { 0, 0, 0, 0, 0, 50, 50, 50, 50, 50 };
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 4, 2 }));
    TEST_OK(cla_tensor_new(&w.w, rt, CLA_F32, 2, (int64_t[]){ 2, 5 }));
    TEST_OK(cla_tensor_new(&w.w_g, rt, CLA_F32, 2, (int64_t[]){ 2, 10 }));
    TEST_OK(cla_tensor_new(&w.b_g, rt, CLA_F32, 1, (int64_t[]){ 10 }));
    TEST_OK(cla_tensor_upload(x, x_host));
    TEST_OK(cla_tensor_upload(w.w, w_host));
    TEST_OK(cla_tensor_upload(w.w_g, zeros));
    TEST_OK(cla_tensor_upload(w.b_g, b_host));
    EACH_SCHEDULE(rt)
    {
        cla_tape *tape = test_tape(rt, false);
        cla_tensor *y = NULL, *c = NULL;
        float got[20], cell[15];
        double want[10];
        TEST_OK(cla_sru(tape, &y, x, &w, rows, &(cla_recurrent_options){ .c = &c }));
        TEST_OK(cla_tensor_download(y, got));
        TEST_OK(cla_tensor_download(c, cell));
        for (int j = 0; j < 10; j++) {
            want[j] = (double)cell[j];
        }
        check_close("last outputs", got + 10, want, 10, 1e-6); // r is 1 - 2e-22
        for (int j = 10; j < 15; j++) {
            cr_assert(cell[j] == 0);
        }
        cla_tape_free(&tape);
    }
    free(x_host);
    free(w_host);
    cla_tensor_free(&x);
    cla_tensor_free(&w.w);
    cla_tensor_free(&w.w_g);
    cla_tensor_free(&w.b_g);
    cla_ragged_free(&rows);
}

DEVICE_TEST(sru, refuses)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_ragged *rows = test_ragged(rt, 1, (int[]){ 5 }, NULL);
    check_refusals(rt, &table);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 5, 3 }, NULL);
    TEST_FAILS(cla_sru(tape, &y, x, &(const cla_sru_weights){ .w = x }, rows,
                       &(cla_recurrent_options){ .h0 = x }),
               CLA_E_USAGE, "c0 and c");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
