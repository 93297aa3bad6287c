/* max_attention.c - device against oracle: sums of rows weighted by their best
 * products. */
#include <string.h>

#include "clattn/ham.h"
#include "support/check_kind.h"

/* Runs of rows are full, full and one more, or cut; rows without keys and the reverse.
 * Scores up to 20 err by some 1e-6, weights by e^score of that. */
static const kind_table table = {
    .lines = { .op = "max_attention" },
    .rows = (const char *const[]){ "q_rows=5,0,3,9 k_rows=3,2,0,1 d=7",
                                   "q_rows=1 k_rows=1 d=1",
                                   "q_rows=8,17 k_rows=9,16 d=24 medium",
                                   "q_rows=70,1,33 k_rows=11,5,8 d=67 medium",
                                   "q_rows=40,20 k_rows=12,7 d=300 large", NULL },
    .bar = 4e-6,
    .scale = { 0.5f, 0.5f },
};

Test(max_attention, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

/* Of two equal keys the first one gets the whole gradient: for q = (1), (2) and keys 1,
 * 1 the scores are 1 and 2, and dk = sum of w_i (q_i - out) q_i. */
DEVICE_TEST(max_attention, first_of_equal_keys_has_the_gradient)
{
    cla_tape *tape = test_tape(rt, true);
    cla_tensor *y = NULL;
    cla_ragged *rows = test_ragged(rt, 1, (int[]){ 2 }, NULL);
    cla_tensor *q =
        test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 1 }, (float[]){ 1, 2 });
    cla_tensor *k =
        test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 1 }, (float[]){ 1, 1 });
    cla_tensor_want_grad(k, true);
    TEST_OK(cla_max_attention(tape, &y, q, k, rows, rows));
    test_backward(tape, y);
    check_tensor("out", y, (double[]){ 1.7310585786300049 }, 1, 1e-6);
    check_tensor("dk", cla_tensor_grad(k), (double[]){ 0.19661193324148188, 0 }, 2,
                 1e-6);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}

Test(max_attention, refuses)
{
    check_kind_refuses(&table);
}
