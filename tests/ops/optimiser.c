/* optimiser.c - device against oracle: steps of each optimiser. */
#include "ops/optimiser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { STEPS = 5, TENSORS = CLA_OPTIMISER_MOMENTS + 2 };

/* Parameters, moments and, last, the gradient: on the device and in double
 * precision. */
typedef struct block {
    const cla_optimiser *o;
    cla_tensor *t[TENSORS];
    double *x[TENSORS];
    int last, n;
} block;

static void block_open(block *b, cla_runtime *rt, const cla_optimiser *o, int n)
{
    *b = (block){ .o = o, .last = cla_optimiser_moments(o) + 1, .n = n };
    for (int i = 0; i <= b->last; i++) {
        TEST_OK(cla_tensor_new(&b->t[i], rt, CLA_F32, 1, (int64_t[]){ n }));
        TEST_OK(cla_tensor_fill(b->t[i], 0));
        b->x[i] = calloc((size_t)n, sizeof *b->x[i]);
        cr_assert(b->x[i]);
    }
}

static void block_close(block *b)
{
    for (int i = 0; i <= b->last; i++) {
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

/* Returns the rates rounded to float, as the device has them. */
static cla_optimiser_rates rounded(const cla_optimiser_rates *r)
{
    return (cla_optimiser_rates){ .lr = (double)(float)r->lr,
                                  .epsilon = (double)(float)r->epsilon,
                                  .weight_decay = r->weight_decay,
                                  .decay = { (double)(float)r->decay[0],
                                             (double)(float)r->decay[1] } };
}

static void step_both(block *b, cla_runtime *rt, int step)
{
    const cla_optimiser_rates rates = rounded(&b->o->usual);
    oracle_optimiser *oracle = oracle_optimiser_named(b->o->signature.op);
    cr_assert(oracle, "%s has no oracle", b->o->signature.op);
    TEST_OK(cla_optimiser_step(rt, b->o, b->t[0], b->t + 1, b->t[b->last], step,
                               &b->o->usual));
    for (int k = 0; k < b->n; k++) {
        double *moments[CLA_OPTIMISER_MOMENTS] = { NULL };
        for (int i = 1; i < b->last; i++) {
            moments[i - 1] = &b->x[i][k];
        }
        oracle(&b->x[0][k], moments, b->x[b->last][k], step, &rates);
    }
}

/* Checks some steps. A step is below 0.02 and errs by a dozen roundings of it, and one
 * of p. A parameter with a gradient of 0, like most of an embedding's, must not move at
 * all, unless parameters shrink. */
static void check_size(cla_runtime *rt, const cla_optimiser *o, int n)
{
    block b;
    char name[64];
    float *p = test_random(n, 1, 1), *got = calloc((size_t)n, sizeof *got);
    snprintf(name, sizeof name, "%s n%d", o->signature.op, n);
    cr_assert(got);
    block_open(&b, rt, o, n);
    put(&b, 0, p);
    for (int step = 1; step <= STEPS; step++) {
        float *g = test_random(n, 1, 1 + (uint32_t)step);
        g[0] = 0;
        put(&b, b.last, g);
        step_both(&b, rt, step);
        free(g);
    }
    TEST_OK(cla_memory_check_guards(rt));
    for (int i = 0; i < b.last; i++) {
        TEST_OK(cla_tensor_download(b.t[i], got));
        check_close(name, got, b.x[i], n, 1e-6);
        cr_assert(i || (got[0] == p[0]) == !o->usual.weight_decay, "p[0] moved");
    }
    block_close(&b);
    free(got);
    free(p);
}

DEVICE_TEST(optimiser, matches_oracle)
{
    static const int sizes[] = { 1, 7, 63, 64, 65, 1000, 8193 };
    const cla_optimiser *o = NULL;
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (int i = 0; (o = cla_optimiser_at(i)); i++) {
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                check_size(rt, o, sizes[k]);
            }
        }
    }
}

/* ---- laws ------------------------------------------------------------------------ */

/* Steps from 1 by gradients of 1 and gives the parameter. */
static float after_steps(cla_runtime *rt, const char *name, const float *gradient,
                         const cla_optimiser_rates *rates)
{
    block b;
    float p = 1;
    block_open(&b, rt, cla_optimiser_named(name), 1);
    put(&b, 0, &p);
    put(&b, b.last, gradient);
    for (int step = 1; step <= STEPS; step++) {
        TEST_OK(cla_optimiser_step(rt, b.o, b.t[0], b.t + 1, b.t[b.last], step, rates));
    }
    TEST_OK(cla_tensor_download(b.t[0], &p));
    block_close(&b);
    return p;
}

DEVICE_TEST(optimiser, decay_is_apart_from_the_gradient)
{
    const float slope = 1e-3F, none = 0;
    cla_optimiser_rates rates = cla_optimiser_named("adamw")->usual;
    rates.lr = 0.5;
    rates.weight_decay = 0;
    cr_expect_eq(after_steps(rt, "adamw", &slope, &rates),
                 after_steps(rt, "adam", &slope, &rates));
    rates.weight_decay = 0.5; // a quarter of p a step
    const double p = 0.75 * 0.75 * 0.75 * 0.75 * 0.75;
    cr_expect_float_eq((double)after_steps(rt, "adamw", &none, &rates), p, 1e-6);
    cr_expect_float_eq((double)after_steps(rt, "lion", &none, &rates), p, 1e-6);
}

/* Gradients of any size move a parameter by lr a step; NaN gives NaN. */
DEVICE_TEST(optimiser, known_steps_of_lion)
{
    static const float gradient[] = { 1e-30F, 1e30F, -2, 0 };
    static const double p[] = { 0.5, 0.5, 1.5, 1 };
    const float nan = NAN;
    cla_optimiser_rates rates = cla_optimiser_named("lion")->usual;
    rates.lr = 0.1;
    rates.weight_decay = 0;
    for (int i = 0; i < 4; i++) {
        cr_expect_float_eq((double)after_steps(rt, "lion", &gradient[i], &rates), p[i],
                           1e-6);
    }
    cr_expect(isnan(after_steps(rt, "lion", &nan, &rates)));
}

enum { WRONG_RATES = 15 };

/* Lists rates that make a parameter without a gradient NaN: none set, or one wrong. */
static int list_wrong(const cla_optimiser *o, cla_optimiser_rates wrong[WRONG_RATES])
{
    static const double epsilon[] = { 0, -1, NAN, 1e-60 }, decay[] = { -0.1, 1, NAN },
                        shrink[] = { -0.1, INFINITY, NAN };
    int count = 0;
    wrong[count] = o->usual;
    wrong[count++].lr = INFINITY;
    for (int i = 0; i < 4 && o->usual.epsilon > 0; i++) {
        wrong[count] = o->usual;
        wrong[count++].epsilon = epsilon[i];
    }
    for (int i = 0; i < 3 * CLA_OPTIMISER_DECAYS; i++) {
        if (o->decay[i / 3]) {
            wrong[count] = o->usual;
            wrong[count++].decay[i / 3] = decay[i % 3];
        }
    }
    for (int i = 0; i < 3 && o->usual.weight_decay > 0; i++) {
        wrong[count] = o->usual;
        wrong[count++].weight_decay = shrink[i];
    }
    if (o->usual.epsilon > 0) {
        wrong[count++] = (cla_optimiser_rates){ 0 };
    }
    return count;
}

DEVICE_TEST(optimiser, refuses_rates_that_give_nan)
{
    const cla_optimiser *o = NULL;
    cla_optimiser_rates wrong[WRONG_RATES];
    for (int i = 0; (o = cla_optimiser_at(i)); i++) {
        block b;
        float got = 1;
        block_open(&b, rt, o, 1);
        for (int k = list_wrong(o, wrong) - 1; k >= 0; k--) {
            TEST_FAILS(
                cla_optimiser_step(rt, o, b.t[0], b.t + 1, b.t[b.last], 1, &wrong[k]),
                CLA_E_USAGE, " is ");
        }
        TEST_OK(cla_tensor_download(b.t[0], &got));
        cr_assert_eq(got, 0);
        block_close(&b);
    }
}

/* For one gradient of 1, u = sqrt(1e-6 / (0.05 + 1e-6)). */
DEVICE_TEST(optimiser, known_step_of_adadelta)
{
    cla_tensor *t[4];
    float got = 0;
    for (int i = 0; i < 4; i++) {
        TEST_OK(cla_tensor_new(&t[i], rt, CLA_F32, 1, (int64_t[]){ 1 }));
        TEST_OK(cla_tensor_fill(t[i], i == 3));
    }
    TEST_OK(cla_adadelta(rt, t[0], t[1], t[2], t[3], 0.5F, 0.95F, 1e-6F));
    TEST_OK(cla_tensor_download(t[0], &got));
    check_close("p", &got, &(double){ -0.5 * 0.00447209124 }, 1, 1e-9);
    for (int i = 0; i < 4; i++) {
        cla_tensor_free(&t[i]);
    }
}

/* Checks errors: each tensor in turn has another size, then the parameters are missing,
 * then the step is 0. */
static void check_refusals(cla_runtime *rt, const cla_optimiser *o, cla_tensor *right,
                           cla_tensor *wrong)
{
    const int last = cla_optimiser_moments(o) + 1;
    for (int bad = 1; bad <= last; bad++) {
        cla_tensor *t[TENSORS];
        for (int i = 0; i <= last; i++) {
            t[i] = i == bad ? wrong : right;
        }
        TEST_FAILS(cla_optimiser_step(rt, o, t[0], t + 1, t[last], 1, &o->usual),
                   CLA_E_SHAPE, "is [5], must be [4]");
    }
    cla_tensor *const moments[] = { right, right };
    TEST_FAILS(cla_optimiser_step(rt, o, NULL, moments, right, 1, &o->usual),
               CLA_E_USAGE, "p is NULL");
    TEST_FAILS(cla_optimiser_step(rt, o, right, moments, right, 0, &o->usual),
               CLA_E_USAGE, "step is 0, must be 1 or more");
}

DEVICE_TEST(optimiser, refuses)
{
    const cla_optimiser *o = NULL;
    cla_tensor *p = NULL, *other = NULL;
    TEST_OK(cla_tensor_new(&p, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&other, rt, CLA_F32, 1, (int64_t[]){ 5 }));
    for (int i = 0; (o = cla_optimiser_at(i)); i++) {
        check_refusals(rt, o, p, other);
    }
    TEST_FAILS(cla_adam(rt, p, p, other, p, 1, &(cla_adam_options){ .lr = 1 }),
               CLA_E_SHAPE, "adam: v is [5], must be [4]");
    TEST_FAILS(cla_rmsprop(rt, p, other, p, 1, 1, 1), CLA_E_SHAPE, "rmsprop: a is");
    TEST_FAILS(cla_adadelta(rt, p, p, other, p, 1, 1, 1), CLA_E_SHAPE,
               "adadelta: d is");
    cla_tensor_free(&other);
    cla_tensor_free(&p);
}
