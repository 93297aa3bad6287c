/* dropout.c - the definition of dropout: which elements a seed keeps. */
#include "base/rng.h"
#include "oracle/oracle.h"

void oracle_dropout(double *y, const double *x, int N, int C, float p, uint32_t seed,
                    uint32_t step, uint32_t stream)
{
    for (int n = 0; n < N; n++) {
        for (int c = 0; c < C; c++) {
            const uint32_t counter[4] = { (uint32_t)(c / 64 * 16 + c % 16), (uint32_t)n,
                                          0x64726f70, stream };
            const uint32_t key[2] = { seed, step };
            const cla_philox r = cla_philox4x32(counter, key);
            const bool kept = cla_uniform(r.v[c / 16 % 4]) >= p;
            const int64_t at = (int64_t)n * C + c;
            y[at] = kept ? x[at] / (1 - (double)p) : 0;
        }
    }
}
