/* sum.c - sums, means and mean squared errors: device against oracle, gradients, equal
 * bits, refusals. */
#include <stdlib.h>

#include "clattn/arithmetic.h"
#include "support/check_kind.h"

/* A run has 4,096 elements at least. */
static const char *const rows[] = { "...=1",    "...=7,9",   "...=2,3,5,7",
                                    "...=63",   "...=65,63", "...=64,64",
                                    "...=4097", "...=0,3",   "...=91,191 medium",
                                    NULL };

/* Sums of 4,096 numbers of deviation 1 in 64 items or VEC lanes: eps sqrt(4096 / 8) of
 * results near 64, and as much again for the sum of the runs. */
static const double BAR = 1e-5;

static void check(const char *op, double bar)
{
    const kind_table table = { .lines = { .op = op }, .rows = rows, .bar = bar };
    check_kind_cases(&table);
    check_kind_refuses(&table);
}

Test(sum, sum)
{
    check("sum", BAR);
}

Test(sum, mean)
{
    check("mean", 1e-6); // a sum's error, over n
}

Test(sum, mse)
{
    const kind_table one = { .lines = { .op = "mse" },
                             .rows = (const char *const[]){ "...=5,13 const=a",
                                                            "...=5,13 const=b", NULL },
                             .bar = 1e-6 };
    check("mse", 1e-6);
    check_kind_cases(&one);
}

/* More than 1,024 runs of the shortest length. All sums of ones are exact. */
DEVICE_TEST(sum, of_many)
{
    const int64_t n = test_small() ? 4099 : 4096 * 1024 + 4099;
    const cla_schedule schedules[] = { CLA_SCHEDULE_TILE, CLA_SCHEDULE_GROUP };
    float *ones = malloc((size_t)n * sizeof *ones), got = 0;
    cr_assert(ones);
    for (int64_t i = 0; i < n; i++) {
        ones[i] = 1;
    }
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x = test_tensor(tape, CLA_F32, 1, &n, ones), *y = NULL;
    for (int i = 0; i < 2; i++) {
        cla_runtime_set_schedule(rt, schedules[i]);
        TEST_OK(cla_sum(tape, &y, x));
        TEST_OK(cla_tensor_download(y, &got));
        cr_expect_eq((int64_t)got, n, "the sum of %lld ones is %g", (long long)n,
                     (double)got);
    }
    cla_tape_free(&tape);
    free(ones);
}
