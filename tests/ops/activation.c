/* activation.c - GELU, SiLU and the sigmoid: device against oracle, gradients, far
 * values, refusals. */
#include <math.h>

#include "clattn/arithmetic.h"
#include "clattn/feed.h"
#include "oracle/oracle.h"
#include "support/check_kind.h"

/* Errors of erf and exp, a few units in the last place of 1, times |x| of up to 20. */
static const double BAR = 3e-6;

static const char *const rows[] = {
    "N=1 D=1",  "N=7 D=9",           "N=64 D=1",          "N=65 D=63",
    "N=0 D=3",  "N=3 D=0",           "medium N=91 D=191", "large N=33 D=2048",
    "N=1 D=63", "medium N=1 D=4095", "medium N=1 D=4097", NULL,
};

Test(activation, gelu)
{
    const kind_table table = {
        .lines = { .op = "gelu" }, .rows = rows, .bar = BAR, .scale = { 3 }
    };
    check_kind_cases(&table);
    check_kind_refuses(&table);
}

Test(activation, silu)
{
    const kind_table table = {
        .lines = { .op = "silu" }, .rows = rows, .bar = BAR, .scale = { 5 }
    };
    check_kind_cases(&table);
    check_kind_refuses(&table);
}

/* Four roundings and that of an exponential. */
Test(activation, sigmoid)
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

DEVICE_TEST(activation, far_values)
{
    const cla_schedule schedules[] = { CLA_SCHEDULE_TILE, CLA_SCHEDULE_GROUP };
    const double same[COUNT] = { 0, 0, 0, 90, 1000, (double)1e30f };
    const double ones[COUNT] = { 0, 0, 0, 1, 1, 1 };
    for (int i = 0; i < 2; i++) {
        cla_runtime_set_schedule(rt, schedules[i]);
        far(rt, cla_gelu, same, ones);
        far(rt, cla_silu, same, ones);
        far(rt, cla_sigmoid, ones, (double[COUNT]){ 0 });
    }
}
