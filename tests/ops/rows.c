/* rows.c - stacks and slices of rows against their definitions. */
#include <stdlib.h>

#include "support/check_kind.h"

static const kind_table stacking = {
    .lines = { "stack", "E=0 -x3", NULL },
    .rows =
        (const char *const[]){ "A=1 B=1 C=1 D=1", "A=3 B=0 C=5 D=7", "A=0 B=2 C=0 D=9",
                               "A=9 B=17 C=8 D=33", "A=64 B=1 C=9 D=64",
                               "A=2 B=3 C=4 D=0", "A=40 B=7 C=3 D=150", NULL },
    .bar = 1e-7, // the inputs' own rounding
};

Test(rows, stack)
{
    check_kind_cases(&stacking);
}

static const kind_table slicing = {
    .lines = { .op = "slice" },
    .rows =
        (const char *const[]){ "N=1 D=1 first=0 count=1", "N=3 D=7 first=1 count=2",
                               "N=0 D=9 first=0 count=0", "N=9 D=33 first=8 count=1",
                               "N=64 D=64 first=0 count=64", "N=2 D=0 first=1 count=1",
                               "N=40 D=150 first=39 count=1", NULL },
    .bar = 1e-7,
};

Test(rows, slice)
{
    check_kind_cases(&slicing);
}

/* All slices stacked give the whole, forward and backward; a slice taken twice adds its
 * gradient twice. */
DEVICE_TEST(rows, slices_stack_to_the_whole)
{
    enum { N = 5, D = 3 };
    cla_tensor *x = NULL, *y = NULL, *part[N + 1];
    cla_tape *tape = test_tape(rt, true);
    float *host = test_random(N * D, 1, 0);
    double want[(N + 1) * D], gradient[N * D];
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ N, D }));
    TEST_OK(cla_tensor_upload(x, host));
    cla_tensor_want_grad(x, true);
    for (int i = 0; i <= N; i++) {
        TEST_OK(cla_slice(tape, &part[i], x, i % N, 1));
    }
    TEST_OK(cla_stack(tape, &y, part, N + 1));
    test_backward(tape, y);
    for (int i = 0; i < (N + 1) * D; i++) {
        want[i] = (double)host[i % (N * D)];
        gradient[i % (N * D)] = i % (N * D) < D ? 2 : 1;
    }
    check_tensor("slices stacked", y, want, (int64_t)(N + 1) * D, 0);
    check_tensor("their gradient", cla_tensor_grad(x), gradient, (int64_t)N * D, 0);
    free(host);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
}

DEVICE_TEST(rows, refuses)
{
    cla_tensor *x = NULL, *y = NULL;
    cla_tape *tape = test_tape(rt, true);
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 4, 3 }));
    cla_tensor *narrow = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 4, 2 }, NULL);
    TEST_FAILS(cla_slice(tape, &y, x, 2, 3), CLA_E_SHAPE, "rows 2 to 4 are asked for");
    TEST_FAILS(cla_slice(tape, &y, x, -1, 2), CLA_E_SHAPE, "rows -1 to 0");
    TEST_FAILS(cla_stack(tape, &y, (cla_tensor *[]){ x, narrow }, 2), CLA_E_SHAPE,
               "x is [4,2]");
    TEST_FAILS(cla_stack(tape, &y, &x, 0), CLA_E_USAGE, "no matrix");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
}
