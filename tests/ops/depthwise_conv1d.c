/* depthwise_conv1d.c - device against oracle: values, gradients, refusals. */
#include <string.h>

#include "support/check_kind.h"

/* A sum of at most 9 products of size 1. */
static const kind_table table = {
    .lines = { .op = "depthwise_conv1d" },
    .rows = (const char *const[]){ "rows=5,0,3 K=3 D=5", "rows=1 K=1 D=1",
                                   "rows=2,9 K=4 D=7", "rows=3,1 K=9 D=3",
                                   "rows=0 K=3 D=4", "rows=40,17,60 K=7 D=65 medium",
                                   "rows=700 K=3 D=9 medium", NULL },
    .bar = 1e-6,
};

Test(depthwise_conv1d, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

DEVICE_TEST(depthwise_conv1d, refuses)
{
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 2, 3 }, NULL);
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    check_refusals(rt, &table);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 5, 3 }, NULL);
    cla_tensor *none = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 0, 3 }, NULL);
    TEST_FAILS(cla_depthwise_conv1d(tape, &y, x, none, rows), CLA_E_SHAPE,
               "at least one tap");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
