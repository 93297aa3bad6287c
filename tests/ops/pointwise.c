/* pointwise.c - operators on elements: device against oracle, gradients, far values,
 * refusals. */
#include <stdio.h>
#include <string.h>

#include "clattn/arithmetic.h"
#include "clattn/feed.h"
#include "clattn/ops.h"
#include "oracle/oracle.h"
#include "support/check_kind.h"

/* Errors of erf and exp, a few units in the last place of 1, times |x| of up to 20. */
static const double BAR = 3e-6;

static const char *const rows[] = {
    "N=1 D=1",  "N=7 D=9",           "N=64 D=1",          "N=65 D=63",
    "N=0 D=3",  "N=3 D=0",           "medium N=91 D=191", "large N=33 D=2048",
    "N=1 D=63", "medium N=1 D=4095", "medium N=1 D=4097", NULL,
};

Test(pointwise, gelu)
{
    const kind_table table = {
        .lines = { .op = "gelu" }, .rows = rows, .bar = BAR, .scale = { 3 }
    };
    check_kind_cases(&table);
    check_kind_refuses(&table);
}

/* The exponential of a cube: its argument has four roundings more. */
Test(pointwise, gelu_tanh)
{
    const kind_table table = {
        .lines = { .op = "gelu_tanh" }, .rows = rows, .bar = 4 * BAR, .scale = { 3 }
    };
    check_kind_cases(&table);
    check_kind_refuses(&table);
}

Test(pointwise, silu)
{
    const kind_table table = {
        .lines = { .op = "silu" }, .rows = rows, .bar = BAR, .scale = { 5 }
    };
    check_kind_cases(&table);
    check_kind_refuses(&table);
}

/* Four roundings and that of an exponential. */
Test(pointwise, sigmoid)
{
    static const char *const shapes[] = {
        "...=1",   "...=7,9",           "...=2,3,5,7",       "...=65,63",
        "...=0,3", "...=91,191 medium", "...=33,2048 large", NULL
    };
    const kind_table table = {
        .lines = { .op = "sigmoid" }, .rows = shapes, .bar = 1e-6, .scale = { 5 }
    };
    check_kind_cases(&table);
    check_kind_refuses(&table);
}

enum { COUNT = 6 };
static const float in[COUNT] = { -1e30f, -1000, -90, 90, 1000, 1e30f };

/* Checks values far from zero and their slopes: nothing overflows. */
static void far(cla_runtime *rt,
                cla_status (*op)(cla_tape *, cla_tensor **, cla_tensor *),
                const double want[COUNT], const double slope[COUNT])
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, true);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 1, COUNT }, in);
    cla_tensor_want_grad(x, true);
    TEST_OK(op(tape, &y, x));
    check_tensor("far values", y, want, COUNT, 0);
    test_backward(tape, y);
    check_tensor("their slopes", cla_tensor_grad(x), slope, COUNT, 0);
    cla_tape_free(&tape);
}

DEVICE_TEST(pointwise, far_values)
{
    const cla_schedule schedules[] = { CLA_SCHEDULE_TILE, CLA_SCHEDULE_GROUP };
    const double same[COUNT] = { 0, 0, 0, 90, 1000, (double)1e30f };
    const double ones[COUNT] = { 0, 0, 0, 1, 1, 1 };
    for (int i = 0; i < 2; i++) {
        cla_runtime_set_schedule(rt, schedules[i]);
        far(rt, cla_gelu, same, ones);
        far(rt, cla_gelu_tanh, same, ones);
        far(rt, cla_silu, same, ones);
        far(rt, cla_sigmoid, ones, (double[COUNT]){ 0 });
    }
}

/* One or two operations an element: a rounding each. */
static const double ROUNDED = 2e-7;

/* ---- add ------------------------------------------------------------------------ */

static const kind_table adding = {
    .lines = { .op = "add" },
    .rows = (const char *const[]){ "...=1,1", "...=7,9", "...=3,64", "...=64,64",
                                   "...=65,63", "...=0,3", "...=91,191 large",
                                   "...=2,0", NULL },
    .bar = ROUNDED,
};

Test(pointwise, add)
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

DEVICE_TEST(pointwise, add_to_itself)
{
    check_itself(rt, cla_add, (double[]){ 2, 4, 6 }, (double[]){ 2, 2, 2 });
}

/* ---- sub and scale_by ------------------------------------------------------------ */

static const kind_table subtracting = {
    .lines = { .op = "sub" },
    .rows = (const char *const[]){ "...=1,1", "...=7,9", "...=2,3,4,5", "...=65,63",
                                   "...=64,65 const=a", "...=3,65 const=b",
                                   "...=91,191 large", "...=0,3", NULL },
    .bar = ROUNDED,
};

Test(pointwise, sub)
{
    check_kind_cases(&subtracting);
}

DEVICE_TEST(pointwise, sub_from_itself)
{
    check_itself(rt, cla_sub, (double[]){ 0, 0, 0 }, (double[]){ 0, 0, 0 });
}

static const kind_table making_multiples = {
    .lines = { .op = "scale_by" },
    .rows = (const char *const[]){ "...=1,1 factor=-0.5", "...=7,9 factor=0",
                                   "...=5 factor=1e3", "...=65,63 medium factor=3",
                                   "...=91,191 large factor=0.1", "...=0,3 factor=2",
                                   NULL },
    .bar = ROUNDED,
};

Test(pointwise, scale_by)
{
    check_kind_cases(&making_multiples);
}

/* ---- multiply ------------------------------------------------------------------- */

static const kind_table multiplying = {
    .lines = { .op = "multiply" },
    .rows = (const char *const[]){ "...=1,1", "...=7,9", "...=64,1", "...=65,63 medium",
                                   "...=91,191 large", "...=0,3", NULL },
    .bar = ROUNDED,
};

Test(pointwise, multiply)
{
    check_kind_cases(&multiplying);
}

/* The gradient of a square is 2 x dy. */
DEVICE_TEST(pointwise, multiply_by_itself)
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

/* ---- gate ------------------------------------------------------------------------ */

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

Test(pointwise, gate)
{
    check_kind_cases(&gating);
    check_kind_cases(&saturated);
}

Test(pointwise, refuses)
{
    check_kind_refuses(&adding);
    check_kind_refuses(&subtracting);
    check_kind_refuses(&making_multiples);
    check_kind_refuses(&multiplying);
    check_kind_refuses(&gating);
}

/* ---- all ------------------------------------------------------------------------- */

extern const op_kind *const pointwise_kinds[];

/* Also an operator that has no test of its own. Four roundings, and the errors of
 * exponentials times |x| of up to 5. */
Test(pointwise, each_matches_its_definition)
{
    for (int i = 0; pointwise_kinds[i]; i++) {
        const op_kind *kind = pointwise_kinds[i];
        const char *shape =
            strstr(kind->signature->text, "...") ? "...=7,9" : "N=7 D=9";
        const char *attribute = kind->attribute[0];
        char row[64];
        snprintf(row, sizeof row, attribute ? "%s %.*s=0.5" : "%s", shape,
                 attribute ? kind_name(attribute) : 0, attribute);
        const kind_table table = {
            .lines = { .op = op_kind_name(kind) },
            .rows = (const char *const[]){ row, NULL },
            .bar = 3e-6,
        };
        check_kind_cases(&table);
        check_kind_refuses(&table);
    }
}
