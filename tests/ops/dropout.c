/* dropout.c - device against oracle, and the share of kept elements. */
#include <math.h>
#include <string.h>

#include "clattn/feed.h"
#include "support/check_kind.h"

/* 1/(1-p) and the product, a rounding each. */
static const kind_table table = {
    .lines = { .op = "dropout" },
    .rows = (const char *const[]){ "...=3,15 p=0.1", "...=1,1 p=0.5", "...=9,16 p=0.3",
                                   "...=8,17 p=0.9", "...=2,63 p=0.5", "...=7,64 p=0.1",
                                   "...=5,65 p=0.5", "...=17,192 p=0.1",
                                   "...=3,107 p=0.25", "...=64,1000 p=0.1 large",
                                   "...=0,4 p=0.1", "...=4,0 p=0.1", NULL },
    .bar = 2.5e-7,
};

Test(dropout, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

/* dropout_add: the sum adds a rounding, relative to |a| + |x|. */
static const kind_table sums = {
    .lines = { .op = "dropout_add" },
    .rows =
        (const char *const[]){
            "...=3,15 p=0.1 whole=0", "...=3,15 p=0.1 whole=1", "...=1,1 p=0.5 whole=0",
            "...=9,16 p=0.3 whole=1", "...=8,17 p=0.9 whole=0",
            "...=2,63 p=0.5 whole=1", "...=7,64 p=0.1 whole=0",
            "...=5,65 p=0.5 whole=1", "...=17,192 p=0.1 whole=0",
            "...=64,1000 p=0.1 whole=0 large", "...=64,1000 p=0.1 whole=1 large",
            "...=0,4 p=0.1 whole=0", "...=4,0 p=0.1 whole=1", NULL },
    .bar = 5e-7,
};

Test(dropout, of_a_sum_matches_oracle_and_gradient)
{
    check_kind_cases(&sums);
}

/* For x + dropout(x) the gradients of both operands add up in x. */
Test(dropout, of_a_sum_adds_to_itself)
{
    cla_runtime *rt = test_runtime();
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_tensor *x = NULL, *y = NULL;
        cla_tape *tape = NULL;
        float got[70], grad[70];
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 2, 35 }));
        TEST_OK(cla_tensor_fill(x, 1));
        cla_tensor_want_grad(x, true);
        TEST_OK(cla_tape_new(&tape, rt, true));
        TEST_OK(cla_dropout_add(tape, &y, x, x, 0.5f, false));
        TEST_OK(cla_tape_seed(tape, y, NULL));
        TEST_OK(cla_tape_backward(tape));
        TEST_OK(cla_tensor_download(y, got));
        TEST_OK(cla_tensor_download(cla_tensor_grad(x), grad));
        cr_assert(!memcmp(got, grad, sizeof got)); // both are 1 or 3 everywhere
        cla_tape_free(&tape);
        cla_tensor_free(&x);
    }
    cla_runtime_free(&rt);
}

/* The share of kept elements is right: of n independent draws with probability q,
 * n q +- 5 sqrt(n q (1 - q)) come true in all but one of a million seeds. */
DEVICE_TEST(dropout, keeps_its_share)
{
    enum { N = 40, C = 100 };
    const double n = N * C, q = 0.7, slack = 5 * sqrt(n * q * (1 - q));
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    static float got[N * C];
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ N, C }, NULL);
    TEST_OK(cla_tensor_fill(x, 1));
    cla_tape_random(tape, test_seed(), 1);
    TEST_OK(cla_dropout(tape, &y, x, 0.3f));
    TEST_OK(cla_tensor_download(y, got));
    int kept = 0;
    for (int i = 0; i < N * C; i++) {
        kept += got[i] != 0;
    }
    cr_assert(fabs(kept - n * q) <= slack, "%d of %g kept (CLATTN_SEED=%u)", kept, n,
              test_seed());
    cla_tape_free(&tape);
}

/* The second half of a batch draws the same numbers as in the whole batch. */
DEVICE_TEST(dropout, does_not_depend_on_the_share)
{
    enum { N = 6, C = 70 };
    static float whole[N * C], half[N * C / 2];
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (int first = 0; first <= N / 2; first += N / 2) {
            cla_tensor *x = NULL, *y = NULL;
            cla_tape *tape = test_tape(rt, false);
            const int64_t shape[] = { first ? N / 2 : N, C };
            TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, shape));
            TEST_OK(cla_tensor_fill(x, 1));
            cla_tape_rows(tape, (uint32_t)first);
            TEST_OK(cla_dropout(tape, &y, x, 0.4f));
            TEST_OK(cla_tensor_download(y, first ? half : whole));
            cla_tape_free(&tape);
            cla_tensor_free(&x);
        }
        cr_assert(!memcmp(half, whole + N / 2 * C, sizeof half));
    }
}

DEVICE_TEST(dropout, refuses)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    check_refusals(rt, &table);
    check_refusals(rt, &sums);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 3 }, NULL);
    TEST_FAILS(cla_dropout(tape, &y, x, 1), CLA_E_USAGE, "p is 1, must be in [0,1)");
    TEST_FAILS(cla_dropout(tape, &y, x, NAN), CLA_E_USAGE, "must be in [0,1)");
    cr_assert_null(y);
    TEST_FAILS(cla_dropout_add(tape, &y, x, x, -1, true), CLA_E_USAGE,
               "dropout_add: p is -1, must be in [0,1)");
    TEST_OK(cla_dropout(tape, &y, x, 0));
    cr_assert_eq(y, x, "p = 0 is x itself");
    cla_tape_free(&tape);
}
