/* multinomial.c - device against oracle: the class of each draw, frequencies, repeated
 * draws, refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

/* Returns the random number of each row for a tape's first op under the default key. */
static double *draws(int rows)
{
    double *u = calloc((size_t)rows + 1, sizeof *u);
    for (int n = 0; n < rows; n++) {
        const uint32_t counter[4] = { 0, (uint32_t)n, 0, 0 }, key[2] = { 42, 0 };
        u[n] = (double)(cla_philox4x32(counter, key).v[0] >> 8) * 0x1p-24;
    }
    return u;
}

static void sample(cla_runtime *rt, const float *x, int N, int V, uint32_t step,
                   int32_t *id)
{
    cla_tensor *classes = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *logits = test_tensor(tape, CLA_F32, 2, (int64_t[]){ N, V }, x);
    cla_tape_random(tape, 42, step);
    TEST_OK(cla_multinomial(tape, &classes, logits));
    TEST_OK(cla_tensor_download(classes, id));
    cla_tape_free(&tape);
}

/* Checks that each class is the oracle's, or that its interval of probability begins or
 * ends at the draw, up to the rounding of f32 sums of V terms. */
static void check(cla_runtime *rt, int N, int V)
{
    const double slack = 1e-6 + 1e-7 * sqrt(V);
    const int64_t size = (int64_t)N * V;
    float *x = test_random(size, 3, 1);
    double *wide = calloc((size_t)size + 1, sizeof *wide), *u = draws(N);
    double *before = calloc((size_t)size + 1, sizeof *before);
    int32_t *id = calloc((size_t)N + 1, sizeof *id), *want = calloc((size_t)N + 1, 4);
    for (int64_t i = 0; i < size; i++) {
        wide[i] = (double)x[i];
    }
    sample(rt, x, N, V, 0, id);
    oracle_multinomial(want, before, wide, u, N, V);
    for (int n = 0; n < N; n++) {
        cr_assert(id[n] >= 0 && id[n] < V);
        const double low = before[(int64_t)n * V + id[n]];
        const double high = id[n] + 1 < V ? before[(int64_t)n * V + id[n] + 1] : 1;
        cr_assert(id[n] == want[n] || (low <= u[n] + slack && u[n] <= high + slack),
                  "N%d V%d: row %d has class %d from %g to %g, must be %d for %g", N, V,
                  n, id[n], low, high, want[n], u[n]);
    }
    free(x);
    free(wide);
    free(before);
    free(u);
    free(id);
    free(want);
}

DEVICE_TEST(multinomial, matches_oracle)
{
    static const int cases[][2] = { { 1, 1 },   { 3, 5 },    { 40, 18 }, { 7, 65 },
                                    { 33, 31 }, { 9, 1031 }, { 6, 257 }, { 0, 9 } };
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const int V = cases[i][1];
            if (!(test_tiny() && V > 40) && !(test_small() && V > 500)) {
                check(rt, cases[i][0], V);
            }
        }
    }
    TEST_OK(cla_memory_check_guards(rt));
}

/* Classes come with their probability p: n p +- 5 sqrt(n p (1 - p)) times in n draws.
 * The same step repeats them, another one does not. A class without weight never comes,
 * and numbers far from 0 do no harm. */
DEVICE_TEST(multinomial, comes_as_often_as_it_should)
{
    enum { V = 5, MANY = 2000, FEW = 100 };
    static const double weight[V] = { 4, 0, 1, 3, 2 };
    const int N = test_small() ? FEW : MANY;
    float *x = calloc((size_t)N * V, sizeof *x);
    int32_t *id = calloc((size_t)N, sizeof *id), *again = calloc((size_t)N, 4);
    for (int i = 0; i < N * V; i++) {
        x[i] = weight[i % V] > 0 ? 1e4F + (float)log(weight[i % V]) : -1e30F;
    }
    for (int s = 0; s < 2; s++) {
        int count[V] = { 0 };
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        sample(rt, x, N, V, 7, id);
        for (int n = 0; n < N; n++) {
            count[id[n]]++;
        }
        for (int c = 0; c < V; c++) {
            // 1e4 + ln 3 is off by up to 5e-4, which changes the probability by 1e-3
            const double p = weight[c] / 10, slack = 5 * sqrt(N * p * (1 - p));
            cr_assert_float_eq(count[c], N * p, slack + 1e-3 * N, "%d of class %d",
                               count[c], c);
        }
        cr_assert_eq(count[1], 0);
        sample(rt, x, N, V, 7, again);
        cr_assert_arr_eq(id, again, (size_t)N * sizeof *id);
        sample(rt, x, N, V, 8, again);
        cr_assert_neq(memcmp(id, again, (size_t)N * sizeof *id), 0);
    }
    free(x);
    free(id);
    free(again);
}

DEVICE_TEST(multinomial, refuses)
{
    cla_tensor *id = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *none = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 0 }, NULL);
    cla_tensor *flat = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 5 }, NULL);
    TEST_FAILS(cla_multinomial(tape, &id, none), CLA_E_SHAPE, "must have 1 to");
    TEST_FAILS(cla_multinomial(tape, &id, flat), CLA_E_SHAPE, "must be");
    cr_assert_null(id);
    cla_tape_free(&tape);
}
