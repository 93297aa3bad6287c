/* ema.c - running means against the oracle, and swapped tensors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clattn/optim.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { STEPS = 4, LARGEST = 8193 };

static const float DECAY = 0.9f;

static void check_size(cla_runtime *rt, int n)
{
    static double mean[LARGEST], now[LARGEST];
    static float got[LARGEST], first[LARGEST];
    char name[64];
    cla_tensor *e = NULL, *p = NULL;
    snprintf(name, sizeof name, "ema n%d", n);
    TEST_OK(cla_tensor_new(&e, rt, CLA_F32, 1, (int64_t[]){ n }));
    TEST_OK(cla_tensor_new(&p, rt, CLA_F32, 1, (int64_t[]){ n }));
    TEST_OK(cla_tensor_fill(e, NAN)); // not read, as the first decay is 0
    for (int step = 0; step < STEPS; step++) {
        float *x = test_random(n, 1, 1 + (uint32_t)step);
        TEST_OK(cla_tensor_upload(p, x));
        TEST_OK(cla_ema(rt, e, p, step ? DECAY : 0));
        for (int i = 0; i < n; i++) {
            now[i] = (double)x[i];
            mean[i] = step ? mean[i] : 0;
        }
        oracle_ema(mean, now, n, step ? (double)DECAY : 0);
        free(x);
    }
    TEST_OK(cla_tensor_download(e, first));
    check_close(name, first, mean, n, 1e-6); // numbers below 2, a few roundings each
    TEST_OK(cla_swap(rt, e, p));
    TEST_OK(cla_memory_check_guards(rt));
    TEST_OK(cla_tensor_download(p, got));
    cr_assert_arr_eq(got, first, (size_t)n * sizeof *got);
    check_tensor(name, e, now, n, 0);
    cla_tensor_free(&e);
    cla_tensor_free(&p);
}

DEVICE_TEST(ema, matches_oracle)
{
    static const int sizes[] = { 1, 7, 63, 64, 65, 1000, LARGEST };
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            check_size(rt, sizes[i]);
        }
    }
}

DEVICE_TEST(ema, refuses)
{
    cla_tensor *e = NULL, *other = NULL;
    TEST_OK(cla_tensor_new(&e, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&other, rt, CLA_F32, 1, (int64_t[]){ 5 }));
    TEST_FAILS(cla_ema(rt, e, other, DECAY), CLA_E_SHAPE, "p is [5], must be [4]");
    TEST_FAILS(cla_swap(rt, e, other), CLA_E_SHAPE, "p is [5], must be [4]");
    TEST_FAILS(cla_ema(rt, NULL, e, DECAY), CLA_E_USAGE, "e is NULL");
    cla_tensor_free(&other);
    cla_tensor_free(&e);
}
