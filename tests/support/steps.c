/* steps.c - steps of an optimiser on the device against its oracle's. */
#include "support/steps.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/runtime.h"

enum { STEPS = 5, TENSORS = STEPS_MOMENTS + 2 };

/* All tensors of a case, on the device and in double. */
typedef struct block {
    cla_tensor *t[TENSORS];
    double *x[TENSORS];
    int tensors, n;
} block;

static void block_open(block *b, cla_runtime *rt, const steps_case *c, int n)
{
    *b = (block){ .tensors = c->moments + 2, .n = n };
    for (int i = 0; i < b->tensors; i++) {
        TEST_OK(cla_tensor_new(&b->t[i], rt, CLA_F32, 1, (int64_t[]){ n }));
        TEST_OK(cla_tensor_fill(b->t[i], 0));
        b->x[i] = calloc((size_t)n, sizeof *b->x[i]);
        cr_assert(b->x[i]);
    }
}

static void block_close(block *b)
{
    for (int i = 0; i < b->tensors; i++) {
        cla_tensor_free(&b->t[i]);
        free(b->x[i]);
    }
}

static void put(block *b, int i, const float *x)
{
    TEST_OK(cla_tensor_upload(b->t[i], x));
    for (int k = 0; k < b->n; k++) {
        b->x[i][k] = (double)x[k];
    }
}

static void check_size(cla_runtime *rt, const steps_case *c, int n)
{
    block b;
    char name[64];
    float *p = test_random(n, 1, 1), *got = calloc((size_t)n, sizeof *got);
    snprintf(name, sizeof name, "%s n%d", c->name, n);
    cr_assert(got);
    block_open(&b, rt, c, n);
    put(&b, 0, p);
    for (int step = 1; step <= STEPS; step++) {
        float *g = test_random(n, 1, 1 + (uint32_t)step);
        g[0] = 0;
        put(&b, b.tensors - 1, g);
        TEST_OK(c->device(rt, b.t, step));
        c->oracle(b.x, n, step);
        free(g);
    }
    TEST_OK(cla_memory_check_guards(rt));
    for (int i = 0; i <= c->moments; i++) {
        TEST_OK(cla_tensor_download(b.t[i], got));
        check_close(name, got, b.x[i], n, c->bar);
        cr_assert(i || got[0] == p[0], "a parameter without gradient moved");
    }
    block_close(&b);
    free(got);
    free(p);
}

void check_steps(const steps_case *c)
{
    static const int sizes[] = { 1, 7, 63, 64, 65, 1000, 8193 };
    cla_runtime *rt = test_runtime();
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            check_size(rt, c, sizes[i]);
        }
    }
    cla_runtime_free(&rt);
}
