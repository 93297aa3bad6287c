/* adam.c - steps on the device against the oracle's. */
#include <stdio.h>
#include <stdlib.h>

#include "clattn/optim.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { STEPS = 5, LARGEST = 8193 };

static const cla_adam_options OPTIONS = { 0.01f, 0.9f, 0.98f, 1e-9f };

/* p, m and v on the host, in double. */
typedef struct state {
    double p[LARGEST], m[LARGEST], v[LARGEST], g[LARGEST];
} state;

static void oracle_step(state *s, const float *g, int n, int step)
{
    for (int i = 0; i < n; i++) {
        s->g[i] = (double)g[i];
    }
    oracle_adam(s->p, s->m, s->v, s->g, n, step, (double)OPTIONS.lr,
                (double)OPTIONS.beta1, (double)OPTIONS.beta2, (double)OPTIONS.eps);
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
        s.m[i] = s.v[i] = 0;
    }
    for (int step = 1; step <= STEPS; step++) {
        float *g = test_random(n, 1, 1 + (uint32_t)step);
        TEST_OK(cla_tensor_upload(t[3], g));
        TEST_OK(cla_adam(rt, t[0], t[1], t[2], t[3], step, &OPTIONS));
        oracle_step(&s, g, n, step);
        free(g);
    }
    TEST_OK(cla_memory_check_guards(rt));
    char name[64];
    snprintf(name, sizeof name, "adam n%d", n);
    TEST_OK(cla_tensor_download(t[0], got));
    /* A step is below 0.02 and errs by a dozen roundings of it, and one of p. */
    check_close(name, got, s.p, n, 1e-6);
    TEST_OK(cla_tensor_download(t[2], got));
    check_close(name, got, s.v, n, 1e-6);
    for (int i = 0; i < 4; i++) {
        cla_tensor_free(&t[i]);
    }
    free(p);
}

Test(adam, matches_oracle)
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

Test(adam, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *p = NULL, *other = NULL;
    TEST_OK(cla_tensor_new(&p, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&other, rt, CLA_F32, 1, (int64_t[]){ 5 }));
    TEST_FAILS(cla_adam(rt, p, other, p, p, 1, &OPTIONS), CLA_E_SHAPE, "m is [5]");
    TEST_FAILS(cla_adam(rt, p, p, other, p, 1, &OPTIONS), CLA_E_SHAPE, "v is [5]");
    TEST_FAILS(cla_adam(rt, p, p, p, other, 1, &OPTIONS), CLA_E_SHAPE,
               "g is [5], must be [4]");
    TEST_FAILS(cla_adam(rt, p, p, p, p, 0, &OPTIONS), CLA_E_USAGE, "step is 0");
    TEST_FAILS(cla_adam(rt, NULL, p, p, p, 1, &OPTIONS), CLA_E_SHAPE, "p is missing");
    cla_tensor_free(&other);
    cla_tensor_free(&p);
    cla_runtime_free(&rt);
}
