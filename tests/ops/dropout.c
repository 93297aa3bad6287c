/* dropout.c - device against oracle, and the share that is kept. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

typedef struct sizes {
    int N, C;
    float p;
} sizes;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const sizes *c = context;
    cla_tape_random(tape, 7, 3);
    return cla_dropout(tape, y, x[0], c->p);
}

static void oracle(double *y, double *const *x, void *context)
{
    const sizes *c = context;
    oracle_dropout(y, x[0], c->N, c->C, c->p, 7, 3, 0);
}

/* 1/(1-p) and the product, a rounding each. */
static const double BAR = 2.5e-7;

Test(dropout, matches_oracle_and_gradient)
{
    sizes cases[] = { { 1, 1, 0.5f },    { 3, 15, 0.1f },  { 9, 16, 0.3f },
                      { 8, 17, 0.9f },   { 2, 63, 0.5f },  { 7, 64, 0.1f },
                      { 5, 65, 0.5f },   { 17, 192, .1f }, { 3, 107, 0.25f },
                      { 64, 1000, .1f }, { 0, 4, 0.1f },   { 4, 0, 0.1f } };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sizes *c = &cases[i];
        if (test_small() && c->C > 500) {
            continue;
        }
        op_case op = {
            .in = { { "x", 2, { c->N, c->C } } },
            .inputs = 1,
            .rank = 2,
            .shape = { c->N, c->C },
            .device = device,
            .oracle = oracle,
            .context = c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "dropout N%d C%d p%g", c->N, c->C,
                 (double)c->p);
        check_op(rt, &op);
    }
    cla_runtime_free(&rt);
}

/* Of n independent draws with probability q, n q +- 5 sqrt(n q (1 - q)) come true in
 * all but one of a million seeds. */
Test(dropout, keeps_its_share)
{
    enum { N = 40, C = 100 };
    const double n = N * C, q = 0.7, slack = 5 * sqrt(n * q * (1 - q));
    cla_runtime *rt = test_runtime();
    cla_tensor *x = NULL, *y = NULL;
    cla_tape *tape = NULL;
    static float got[N * C];
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ N, C }));
    TEST_OK(cla_tensor_fill(x, 1));
    TEST_OK(cla_tape_new(&tape, rt, false));
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
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
}

/* The second half of a batch draws what it would as part of the whole. */
Test(dropout, does_not_depend_on_the_share)
{
    enum { N = 6, C = 70 };
    cla_runtime *rt = test_runtime();
    static float whole[N * C], half[N * C / 2];
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (int first = 0; first <= N / 2; first += N / 2) {
            cla_tensor *x = NULL, *y = NULL;
            cla_tape *tape = NULL;
            const int64_t shape[] = { first ? N / 2 : N, C };
            TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, shape));
            TEST_OK(cla_tensor_fill(x, 1));
            TEST_OK(cla_tape_new(&tape, rt, false));
            cla_tape_rows(tape, (uint32_t)first);
            TEST_OK(cla_dropout(tape, &y, x, 0.4f));
            TEST_OK(cla_tensor_download(y, first ? half : whole));
            cla_tape_free(&tape);
            cla_tensor_free(&x);
        }
        cr_assert(!memcmp(half, whole + N / 2 * C, sizeof half));
    }
    cla_runtime_free(&rt);
}

Test(dropout, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *x = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_dropout(tape, &y, x, 1), CLA_E_USAGE, "p is 1, must be in [0,1)");
    TEST_FAILS(cla_dropout(tape, &y, x, NAN), CLA_E_USAGE, "must be in [0,1)");
    TEST_FAILS(cla_dropout(tape, &y, NULL, 0.5f), CLA_E_SHAPE, "x is missing");
    cr_assert_null(y);
    TEST_OK(cla_dropout(tape, &y, x, 0));
    cr_assert_eq(y, x, "p = 0 is x itself");
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_runtime_free(&rt);
}
