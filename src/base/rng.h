/* rng.h - Philox4x32-10, the same numbers here and in cl/prelude.cl. */
#pragma once

#include <stdint.h>

typedef struct cla_philox {
    uint32_t v[4];
} cla_philox;

/* Four random words for a counter under a key. */
cla_philox cla_philox4x32(const uint32_t counter[4], const uint32_t key[2]);

/* A word as a float in [0,1), on a grid of 2^-24. */
static inline float cla_uniform(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* Shuffles n pieces of size numbers (Fisher and Yates), the same for the same key and
 * two words of a counter. */
void cla_shuffle(int64_t *x, int64_t n, int64_t size, const uint32_t key[2],
                 uint32_t first, uint32_t second);

/* n floats, normal with mean 0 and deviation scale, for a seed and a stream. */
void cla_random_normal(float *out, int64_t n, float scale, uint32_t seed,
                       uint32_t stream);
void cla_random_uniform(float *out, int64_t n, float low, float high, uint32_t seed,
                        uint32_t stream);
