/* conv1d.c - device against oracle: values, gradients, refusals. */
#include <string.h>

#include "support/check_kind.h"

/* ReLU (1) is only in cases with few results, as a finite difference across one of its
 * kinks is wrong. A sum of K in products of size 1, weights scaled to keep results near
 * 1: eps sqrt(n) of it, n up to 700. */
static const kind_table table = {
    .lines = { .op = "conv1d" },
    .rows = (const char *const[]){ "rows=3,0,1,7 K=5 in=3 out=5 activation=1",
                                   "rows=1 K=1 in=1 out=1",
                                   "rows=5,13 K=3 in=16 out=16 activation=2 medium",
                                   "rows=4,9 K=3 in=5 out=18 activation=3 medium",
                                   "rows=4,9 K=3 in=5 out=18 activation=4 medium",
                                   "rows=4,9 K=3 in=5 out=18 -b activation=5 medium",
                                   "rows=6x20 K=5 in=64 out=64 large",
                                   "rows=33,2,64 K=5 in=33 out=24 large",
                                   "rows=6,6 K=4 in=7 out=70 activation=1 medium",
                                   "rows=2,3 K=9 in=5 out=33 -b medium",
                                   "rows=700 K=3 in=8 out=8 activation=2 large",
                                   "rows=0,0 K=3 in=4 out=4", NULL },
    .bar = 5e-6,
    .scale = { [1] = 0.1f },
};

Test(conv1d, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

DEVICE_TEST(conv1d, refuses)
{
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 2, 3 }, NULL);
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    check_refusals(rt, &table);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 5, 3 }, NULL);
    cla_tensor *none = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 0, 3, 2 }, NULL);
    TEST_FAILS(cla_conv1d(tape, &y, x, x, NULL, rows, CLA_NONE), CLA_E_SHAPE,
               "conv1d: w is [5,3], must be [*,3,*]");
    TEST_FAILS(cla_conv1d(tape, &y, x, none, NULL, rows, CLA_NONE), CLA_E_SHAPE,
               "at least one tap");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
