/* rng.c - random numbers: Random123's known answers, and arrays of floats. */
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

/* From kat_vectors of Random123 1.14 (philox4x32-10). */
static const struct {
    uint32_t counter[4], key[2], words[4];
} answers[] = {
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { ~0u, ~0u, ~0u, ~0u },
      { ~0u, ~0u },
      { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
      { 0xa4093822, 0x299f31d0 },
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

Test(rng, known_answers)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const cla_philox r = cla_philox4x32(answers[i].counter, answers[i].key);
        cr_expect_arr_eq(r.v, answers[i].words, sizeof r.v);
    }
}

Test(rng, uniform_word)
{
    cr_expect(cla_uniform(0) == 0.0f);
    cr_expect(cla_uniform(~0u) < 1.0f);
    cr_expect(cla_uniform(0x80000000u) == 0.5f);
}

enum { N = 200000 };

static void moments(const float *x, double *mean, double *deviation)
{
    double sum = 0, sum2 = 0;
    for (int i = 0; i < N; i++) {
        sum += (double)x[i];
        sum2 += (double)x[i] * (double)x[i];
    }
    *mean = sum / N;
    *deviation = sqrt(sum2 / N - *mean * *mean);
}

/* Five standard errors: 5/sqrt(N) = 0.011 for the mean, less for the deviation. */
Test(rng, normal)
{
    float *x = malloc(N * sizeof *x);
    double mean, deviation;
    cla_random_normal(x, N, 2.0f, 42, 3);
    moments(x, &mean, &deviation);
    cr_expect(fabs(mean) < 2 * 0.0112, "%g", mean);
    cr_expect(fabs(deviation - 2) < 2 * 0.008, "%g", deviation);
    int beyond = 0; // 2 sigma: 4.55 %
    for (int i = 0; i < N; i++) {
        cr_assert(isfinite(x[i]));
        beyond += fabsf(x[i]) > 4.0f;
    }
    cr_expect(abs(beyond - 9100) < 500, "%d", beyond);
    free(x);
}

Test(rng, uniform)
{
    float *x = malloc(N * sizeof *x);
    double mean, deviation;
    cla_random_uniform(x, N, -1.0f, 3.0f, 42, 3);
    moments(x, &mean, &deviation);
    cr_expect(fabs(mean - 1) < 0.0112 * 1.16, "%g", mean);
    cr_expect(fabs(deviation - 4 / sqrt(12)) < 0.01, "%g", deviation);
    for (int i = 0; i < N; i++) {
        cr_assert(x[i] >= -1.0f && x[i] <= 3.0f);
    }
    free(x);
}

Test(rng, arrays_are_keyed)
{
    float a[101], b[101];
    cla_random_normal(a, 101, 1, 42, 0);
    cla_random_normal(b, 101, 1, 42, 0);
    cr_expect_arr_eq(a, b, sizeof a);
    // a shorter array is the beginning of a longer one
    cla_random_normal(b, 37, 1, 42, 0);
    cr_expect_arr_eq(a, b, sizeof a);
    cla_random_normal(b, 101, 1, 43, 0);
    cr_expect_arr_neq(a, b, sizeof a);
    cla_random_normal(b, 101, 1, 42, 1);
    cr_expect_arr_neq(a, b, sizeof a);
    cla_random_normal(b, 0, 1, 42, 1);
}
