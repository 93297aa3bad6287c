/* elementwise.c - sums, differences, products, multiples, gates, concatenated columns
 * and scaled heads against their oracles. */
#include <string.h>

#include "clattn/arithmetic.h"
#include "support/check_kind.h"

/* One or two operations an element: a rounding each. */
static const double BAR = 2e-7;

/* ---- add ------------------------------------------------------------------------ */

static const kind_table adding = {
    .lines = { .op = "add" },
    .rows = (const char *const[]){ "...=1,1", "...=7,9", "...=3,64", "...=64,64",
                                   "...=65,63", "...=0,3", "...=91,191 large",
                                   "...=2,0", NULL },
    .bar = BAR,
};

Test(elementwise, add)
{
    check_kind_cases(&adding);
}

/* Checks op(x, x) of x = 1, 2, 3, whose gradients end in one tensor. */
static void check_itself(cla_runtime *rt,
                         cla_status (*op)(cla_tape *, cla_tensor **, cla_tensor *,
                                          cla_tensor *),
                         const double *want, const double *slope)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, true);
    cla_tensor *x =
        test_tensor(tape, CLA_F32, 1, (int64_t[]){ 3 }, (float[]){ 1, 2, 3 });
    cla_tensor_want_grad(x, true);
    TEST_OK(op(tape, &y, x, x));
    test_backward(tape, y);
    check_tensor("of itself", y, want, 3, 0);
    check_tensor("its gradient", cla_tensor_grad(x), slope, 3, 0);
    cla_tape_free(&tape);
}

DEVICE_TEST(elementwise, add_to_itself)
{
    check_itself(rt, cla_add, (double[]){ 2, 4, 6 }, (double[]){ 2, 2, 2 });
}

/* ---- sub and scale_by ------------------------------------------------------------ */

static const kind_table subtracting = {
    .lines = { .op = "sub" },
    .rows = (const char *const[]){ "...=1,1", "...=7,9", "...=2,3,4,5", "...=65,63",
                                   "...=64,65 const=a", "...=3,65 const=b",
                                   "...=91,191 large", "...=0,3", NULL },
    .bar = BAR,
};

Test(elementwise, sub)
{
    check_kind_cases(&subtracting);
}

DEVICE_TEST(elementwise, sub_from_itself)
{
    check_itself(rt, cla_sub, (double[]){ 0, 0, 0 }, (double[]){ 0, 0, 0 });
}

static const kind_table making_multiples = {
    .lines = { .op = "scale_by" },
    .rows = (const char *const[]){ "...=1,1 factor=-0.5", "...=7,9 factor=0",
                                   "...=5 factor=1e3", "...=65,63 medium factor=3",
                                   "...=91,191 large factor=0.1", "...=0,3 factor=2",
                                   NULL },
    .bar = BAR,
};

Test(elementwise, scale_by)
{
    check_kind_cases(&making_multiples);
}

/* ---- multiply ------------------------------------------------------------------- */

static const kind_table multiplying = {
    .lines = { .op = "multiply" },
    .rows = (const char *const[]){ "...=1,1", "...=7,9", "...=64,1", "...=65,63 medium",
                                   "...=91,191 large", "...=0,3", NULL },
    .bar = BAR,
};

Test(elementwise, multiply)
{
    check_kind_cases(&multiplying);
}

/* The gradient of a square is 2 x dy. */
DEVICE_TEST(elementwise, multiply_by_itself)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, true);
    cla_tensor *x =
        test_tensor(tape, CLA_F32, 1, (int64_t[]){ 3 }, (float[]){ 1, -2, 3 });
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_multiply(tape, &y, x, x));
    check_tensor("squares", y, (double[]){ 1, 4, 9 }, 3, 0);
    test_backward(tape, y);
    check_tensor("gradient of squares", cla_tensor_grad(x), (double[]){ 2, -4, 6 }, 3,
                 0);
    cla_tape_free(&tape);
}

/* ---- gate, concat, scaled heads -------------------------------------------------- */

/* Four roundings and that of an exponential. */
static const kind_table gating = {
    .lines = { .op = "gate" },
    .rows = (const char *const[]){ "...=1,1", "...=7,9", "...=65,63 medium", "...=0,3",
                                   NULL },
    .bar = 1e-6,
};

/* Inputs of deviation 30 saturate the gate. */
static const kind_table saturated = {
    .lines = { .op = "gate" },
    .rows = (const char *const[]){ "...=7,9", NULL },
    .bar = 1e-6,
    .scale = { 30 },
};

Test(elementwise, gate)
{
    check_kind_cases(&gating);
    check_kind_cases(&saturated);
}

static const kind_table joining = {
    .lines = { .op = "concat" },
    .rows = (const char *const[]){ "N=1 Ca=1 Cb=1", "N=5 Ca=3 Cb=8", "N=8 Ca=128 Cb=64",
                                   "N=9 Ca=65 Cb=63", "N=0 Ca=3 Cb=4", "N=3 Ca=0 Cb=4",
                                   "N=33 Ca=129 Cb=1", NULL },
    .bar = 0, // copies
};

Test(elementwise, concat)
{
    check_kind_cases(&joining);
}

static const kind_table scaling = {
    .lines = { .op = "scale_heads" },
    .rows = (const char *const[]){ "N=1 H=1 d=1", "N=7 H=3 d=24 columns",
                                   "N=9 H=4 d=48", "N=16 H=2 d=91 columns",
                                   "N=61 H=1 d=130", "N=0 H=2 d=8", NULL },
    .bar = BAR,
};

Test(elementwise, scale_heads)
{
    check_kind_cases(&scaling);
}

Test(elementwise, refuses)
{
    check_kind_refuses(&adding);
    check_kind_refuses(&subtracting);
    check_kind_refuses(&making_multiples);
    check_kind_refuses(&multiplying);
    check_kind_refuses(&gating);
    check_kind_refuses(&joining);
    check_kind_refuses(&scaling);
}
