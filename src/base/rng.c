/* rng.c - Philox4x32-10 from Random123, and arrays of random numbers made with it. */
#include "base/rng.h"

#include <Random123/philox.h>
#include <math.h>

/* Third words of the counter. They separate the two kinds of arrays from each other and
 * from the draws of kernels, where this word is a head, for example. */
enum { DRAW_NORMAL = 0x6e6f726d, DRAW_UNIFORM = 0x756e6966 };

cla_philox cla_philox4x32(const uint32_t counter[4], const uint32_t key[2])
{
    const philox4x32_ctr_t c = { { counter[0], counter[1], counter[2], counter[3] } };
    const philox4x32_key_t k = { { key[0], key[1] } };
    const philox4x32_ctr_t r = philox4x32(c, k);
    return (cla_philox){ { r.v[0], r.v[1], r.v[2], r.v[3] } };
}

void cla_shuffle(int64_t *x, int64_t n, int64_t size, const uint32_t key[2],
                 uint32_t first, uint32_t second)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const uint32_t counter[4] = { (uint32_t)i, first, second, 0 };
        const uint64_t word = cla_philox4x32(counter, key).v[0];
        const int64_t j = (int64_t)((word * (uint64_t)(i + 1)) >> 32);
        for (int64_t k = 0; k < size; k++) {
            const int64_t kept = x[i * size + k];
            x[i * size + k] = x[j * size + k];
            x[j * size + k] = kept;
        }
    }
}

static cla_philox draw(int64_t block, uint32_t kind, uint32_t seed, uint32_t stream)
{
    const uint32_t counter[4] = { (uint32_t)block, (uint32_t)((uint64_t)block >> 32),
                                  kind, stream };
    const uint32_t key[2] = { seed, 0 };
    return cla_philox4x32(counter, key);
}

/* Computes two normal numbers from two words (Box and Muller 1958). */
static void normal_pair(double out[2], uint32_t a, uint32_t b)
{
    const double u = ((double)a + 1.0) * 0x1p-32; // in (0,1]: the logarithm is finite
    const double angle = 6.283185307179586 * ((double)b * 0x1p-32);
    const double radius = sqrt(-2.0 * log(u));
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

void cla_random_normal(float *out, int64_t n, float scale, uint32_t seed,
                       uint32_t stream)
{
    for (int64_t i = 0; i < n; i += 4) {
        const cla_philox r = draw(i / 4, DRAW_NORMAL, seed, stream);
        double x[4];
        normal_pair(x, r.v[0], r.v[1]);
        normal_pair(x + 2, r.v[2], r.v[3]);
        for (int64_t j = i; j < n && j < i + 4; j++) {
            out[j] = (float)((double)scale * x[j - i]);
        }
    }
}

void cla_random_uniform(float *out, int64_t n, float low, float high, uint32_t seed,
                        uint32_t stream)
{
    for (int64_t i = 0; i < n; i += 4) {
        const cla_philox r = draw(i / 4, DRAW_UNIFORM, seed, stream);
        for (int64_t j = i; j < n && j < i + 4; j++) {
            out[j] = low + (high - low) * cla_uniform(r.v[j - i]);
        }
    }
}
