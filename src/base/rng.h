/* rng.h - Philox4x32-10; cl/prelude.cl generates the same numbers. */
#pragma once

#include <stdint.h>

typedef struct cla_philox {
    uint32_t v[4];
} cla_philox;

/* Returns four random words for a counter and a key. */
cla_philox cla_philox4x32(const uint32_t counter[4], const uint32_t key[2]);

/* Converts a word to a float in [0,1), a multiple of 2^-24. */
static inline float cla_uniform(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* Shuffles n groups of size numbers each (Fisher and Yates). The same key and counter
 * words (first, second) give the same order. */
void cla_shuffle(int64_t *x, int64_t n, int64_t size, const uint32_t key[2],
                 uint32_t first, uint32_t second);

/* Fill out [n] with random floats, the same for the same seed and stream: normal with
 * mean 0 and standard deviation scale, or uniform from low to high. */
void cla_random_normal(float *out, int64_t n, float scale, uint32_t seed,
                       uint32_t stream);
void cla_random_uniform(float *out, int64_t n, float low, float high, uint32_t seed,
                        uint32_t stream);
