/* gaussian_attention.c - the definitions of attention with Gaussians around centres,
 * and of what centres and widths are made with. */
#include <assert.h>
#include <math.h>

#include "oracle.h"

void oracle_gaussian_attention(double *o, double *map, const double *q, const double *k,
                               const double *v, const oracle_attention_shape *s)
{
    assert(s->sigma);
    oracle_attention(o, map, q, k, v, s);
}

void oracle_length_sigmoid(double *y, const double *x, int B, int C,
                           const int32_t *offsets, double slope, double shift,
                           double base)
{
    for (int b = 0; b < B; b++) {
        const double most = slope * (offsets[b + 1] - offsets[b]) + shift;
        for (int64_t i = (int64_t)offsets[b] * C; i < (int64_t)offsets[b + 1] * C;
             i++) {
            y[i] = most / (1 + exp(-x[i])) + base;
        }
    }
}
