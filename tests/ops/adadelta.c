/* adadelta.c - steps on the device against the oracle's. */
#include <stdio.h>
#include <stdlib.h>

#include "clattn/optim.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { STEPS = 5, LARGEST = 8193 };

static const float LR = 1, RHO = 0.95f, EPS = 1e-6f;

/* p, a and d on the host, in double. */
typedef struct state {
    double p[LARGEST], a[LARGEST], d[LARGEST], g[LARGEST];
} state;

static void oracle_step(state *s, const float *g, int n)
{
    for (int i = 0; i < n; i++) {
        s->g[i] = (double)g[i];
    }
    oracle_adadelta(s->p, s->a, s->d, s->g, n, (double)LR, (double)RHO, (double)EPS);
}

static void check_size(cla_runtime *rt, int n)
{
    static state s;
    static float got[LARGEST];
    const int64_t shape[] = { n };
    cla_tensor *t[4];
    float *p = test_random(n, 1, 1);
    for (int i = 0; i < 4; i++) {
        TEST_OK(cla_tensor_new(&t[i], rt, CLA_F32, 1, shape));
        TEST_OK(cla_tensor_fill(t[i], 0));
    }
    TEST_OK(cla_tensor_upload(t[0], p));
    for (int i = 0; i < n; i++) {
        s.p[i] = (double)p[i];
        s.a[i] = s.d[i] = 0;
    }
    for (int step = 0; step < STEPS; step++) {
        float *g = test_random(n, 1, 2 + (uint32_t)step);
        g[0] = 0; // as most of an embedding's gradient: the parameter stays
        TEST_OK(cla_tensor_upload(t[3], g));
        TEST_OK(cla_adadelta(rt, t[0], t[1], t[2], t[3], LR, RHO, EPS));
        oracle_step(&s, g, n);
        free(g);
    }
    TEST_OK(cla_memory_check_guards(rt));
    char name[64];
    snprintf(name, sizeof name, "adadelta n%d", n);
    TEST_OK(cla_tensor_download(t[0], got));
    cr_assert_eq(got[0], p[0], "a parameter without gradient moved");
    /* Steps are below 0.01 and err by a dozen roundings of that, and one of p. */
    check_close(name, got, s.p, n, 1e-6);
    TEST_OK(cla_tensor_download(t[1], got));
    check_close(name, got, s.a, n, 1e-6);
    TEST_OK(cla_tensor_download(t[2], got));
    check_close(name, got, s.d, n, 1e-6);
    for (int i = 0; i < 4; i++) {
        cla_tensor_free(&t[i]);
    }
    free(p);
}

Test(adadelta, matches_oracle)
{
    static const int sizes[] = { 1, 7, 63, 64, 65, 1000, LARGEST };
    cla_runtime *rt = test_runtime();
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            check_size(rt, sizes[i]);
        }
    }
    cla_runtime_free(&rt);
}

/* One gradient of 1: u = sqrt(1e-6 / (0.05 + 1e-6)). */
Test(adadelta, known_step)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *t[4];
    float got = 0;
    for (int i = 0; i < 4; i++) {
        TEST_OK(cla_tensor_new(&t[i], rt, CLA_F32, 1, (int64_t[]){ 1 }));
        TEST_OK(cla_tensor_fill(t[i], i == 3));
    }
    TEST_OK(cla_adadelta(rt, t[0], t[1], t[2], t[3], 0.5F, RHO, EPS));
    TEST_OK(cla_tensor_download(t[0], &got));
    check_close("p", &got, &(double){ -0.5 * 0.00447209124 }, 1, 1e-9);
    for (int i = 0; i < 4; i++) {
        cla_tensor_free(&t[i]);
    }
    cla_runtime_free(&rt);
}

Test(adadelta, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *p = NULL, *other = NULL;
    TEST_OK(cla_tensor_new(&p, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&other, rt, CLA_F32, 1, (int64_t[]){ 5 }));
    TEST_FAILS(cla_adadelta(rt, p, other, p, p, LR, RHO, EPS), CLA_E_SHAPE, "a is [5]");
    TEST_FAILS(cla_adadelta(rt, p, p, other, p, LR, RHO, EPS), CLA_E_SHAPE, "d is [5]");
    TEST_FAILS(cla_adadelta(rt, p, p, p, other, LR, RHO, EPS), CLA_E_SHAPE,
               "g is [5], must be [4]");
    TEST_FAILS(cla_adadelta(rt, NULL, p, p, p, LR, RHO, EPS), CLA_E_SHAPE,
               "p is missing");
    cla_tensor_free(&other);
    cla_tensor_free(&p);
    cla_runtime_free(&rt);
}
