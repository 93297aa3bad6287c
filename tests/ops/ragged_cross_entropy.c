/* ragged_cross_entropy.c - device against oracle: losses of pointers, and their
 * logarithms. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/ham.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { SEQUENCES = 5 };

typedef struct pointer_case {
    int B;
    int S[SEQUENCES];
    int32_t targets[SEQUENCES];
    bool given;
    // filled in by make
    int32_t *offsets;
    cla_ragged *rows;
    cla_tensor *at; // targets on the device
} pointer_case;

/* Targets that are none, of an empty sequence, past the end; none at all. */
static const pointer_case CASES[] = {
    { 1, { 1 }, { 0 }, false, NULL, NULL, NULL },
    { 4, { 3, 0, 7, 2 }, { 2, 0, -1, 1 }, false, NULL, NULL, NULL },
    { 4, { 3, 0, 7, 2 }, { 2, 0, -1, 1 }, true, NULL, NULL, NULL },
    { 5, { 63, 64, 65, 300, 1 }, { 62, 64, 0, 211, 0 }, false, NULL, NULL, NULL },
    { 2, { 4, 5 }, { -1, 5 }, false, NULL, NULL, NULL },
    { 2, { 4, 200 }, { 0, 77 }, true, NULL, NULL, NULL },
};

static const float LEAST = 1e-3f;

static void make(pointer_case *c, cla_runtime *rt)
{
    const int64_t sequences = c->B;
    c->rows = test_ragged(rt, c->B, c->S, &c->offsets);
    TEST_OK(cla_tensor_new(&c->at, rt, CLA_I32, 1, &sequences));
    TEST_OK(cla_tensor_upload(c->at, c->targets));
}

static void fini(pointer_case *c)
{
    cla_tensor_free(&c->at);
    cla_ragged_free(&c->rows);
    free(c->offsets);
}

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const pointer_case *c = context;
    const cla_pointer_options options = { .probabilities = c->given, .least = LEAST };
    return cla_ragged_cross_entropy(tape, y, x[0], c->at, c->rows, &options);
}

static void oracle(double *y, double *const *x, void *context)
{
    const pointer_case *c = context;
    *y = oracle_ragged_cross_entropy(x[0], c->targets, c->B, c->offsets, c->given,
                                     (double)LEAST);
}

Test(ragged_cross_entropy, matches_oracle_and_gradient)
{
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pointer_case c = CASES[i];
        if (test_tiny() && c.S[c.B - 1] > 10) {
            continue;
        }
        make(&c, rt);
        op_case op = {
            // numbers that can be probabilities, as far as the logarithm is concerned
            .in = { { "x", 1, { c.offsets[c.B] }, .scale = c.given ? 0.01f : 1 } },
            .shift = { c.given ? 0.5f : 0 },
            .inputs = 1,
            .rank = 1,
            .shape = { 1 },
            .device = device,
            .oracle = oracle,
            .context = &c,
            .bar = 2e-6, // a logarithm of a sum of up to 300 numbers
        };
        snprintf(op.name, sizeof op.name, "ragged_cross_entropy %zu", i);
        check_op(rt, &op);
        fini(&c);
    }
    cla_runtime_free(&rt);
}

/* logp are x less what makes them probabilities, and sum to 1 in each sequence. */
static void check_logarithms(cla_runtime *rt, const pointer_case *c)
{
    const int64_t count = c->offsets[c->B];
    cla_tape *tape = NULL;
    cla_tensor *x = NULL, *logp = NULL, *loss = NULL;
    const cla_pointer_options options = { .probabilities = c->given,
                                          .least = LEAST,
                                          .logp = &logp };
    float *numbers = test_random(count, 1, 3), *got = malloc((size_t)count * 4);
    for (int64_t n = 0; n < count; n++) {
        numbers[n] = c->given ? fabsf(numbers[n]) : numbers[n];
    }
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_tape_tensor(tape, &x, CLA_F32, 1, &count));
    TEST_OK(cla_tensor_upload(x, numbers));
    TEST_OK(cla_ragged_cross_entropy(tape, &loss, x, c->at, c->rows, &options));
    TEST_OK(cla_tensor_download(logp, got));
    TEST_OK(cla_memory_check_guards(rt));
    for (int b = 0; b < c->B; b++) {
        double sum = 0;
        for (int n = c->offsets[b]; n < c->offsets[b + 1]; n++) {
            const double given = log((double)numbers[n] + (double)LEAST);
            sum += exp((double)got[n]);
            cr_assert(!c->given || fabs((double)got[n] - given) <= 1e-5, "%d: %g", n,
                      (double)got[n]);
        }
        cr_assert(c->given || c->S[b] == 0 || fabs(sum - 1) <= 1e-5, "sum is %g", sum);
    }
    free(numbers);
    free(got);
    cla_tape_free(&tape);
}

Test(ragged_cross_entropy, logarithms_on_demand)
{
    cla_runtime *rt = test_runtime();
    for (int i = 1; i <= 2; i++) {
        pointer_case c = CASES[i];
        make(&c, rt);
        for (int schedule = 0; schedule < 2; schedule++) {
            cla_runtime_set_schedule(rt,
                                     schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
            check_logarithms(rt, &c);
        }
        fini(&c);
    }
    cla_runtime_free(&rt);
}

Test(ragged_cross_entropy, refusals)
{
    cla_runtime *rt = test_runtime();
    pointer_case c = CASES[1];
    cla_tape *tape = NULL;
    cla_tensor *x = NULL, *wide = NULL, *loss = NULL;
    const cla_pointer_options below = { .least = -1 };
    make(&c, rt);
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_tape_tensor(tape, &x, CLA_F32, 1, (int64_t[]){ 12 }));
    TEST_OK(cla_tape_tensor(tape, &wide, CLA_F32, 1, (int64_t[]){ 13 }));
    TEST_FAILS(cla_ragged_cross_entropy(tape, &loss, x, c.at, NULL, NULL), CLA_E_USAGE,
               "rows");
    TEST_FAILS(cla_ragged_cross_entropy(tape, &loss, x, c.at, c.rows, &below),
               CLA_E_USAGE, "least");
    TEST_FAILS(cla_ragged_cross_entropy(tape, &loss, wide, c.at, c.rows, NULL),
               CLA_E_SHAPE, "x is");
    TEST_FAILS(cla_ragged_cross_entropy(tape, &loss, x, x, c.rows, NULL), CLA_E_SHAPE,
               "targets");
    cr_assert_null(loss);
    fini(&c);
    cla_tape_free(&tape);
    cla_runtime_free(&rt);
}
