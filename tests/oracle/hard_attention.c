/* hard_attention.c - the definition of hard attention: scores, gates, sums. */
#include <math.h>

#include "base/rng.h"
#include "oracle/oracle.h"

double oracle_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

void oracle_hard_scores(double *scores, const double *q, const double *k,
                        const oracle_hard_shape *s)
{
    for (int b = 0; b < s->B; b++) {
        for (int i = s->q_offsets[b]; i < s->q_offsets[b + 1]; i++) {
            for (int j = s->k_offsets[b]; j < s->k_offsets[b + 1]; j++) {
                double sum = 0;
                for (int c = 0; c < s->D; c++) {
                    sum += q[(int64_t)i * s->D + c] * k[(int64_t)j * s->D + c];
                }
                *scores++ = s->scale * sum;
            }
        }
    }
}

void oracle_hard_draws(double *draws, const oracle_hard_shape *s, uint32_t seed,
                       uint32_t step, uint32_t stream, uint32_t first_row)
{
    for (int b = 0; b < s->B; b++) {
        for (int i = s->q_offsets[b]; i < s->q_offsets[b + 1]; i++) {
            for (int j = 0; j < s->k_offsets[b + 1] - s->k_offsets[b]; j++) {
                const uint32_t counter[4] = { (uint32_t)j / 4, first_row + (uint32_t)i,
                                              0x67617465, stream };
                const uint32_t key[2] = { seed, step };
                *draws++ = (double)cla_uniform(cla_philox4x32(counter, key).v[j % 4]);
            }
        }
    }
}

/* Computes o, the sum of the values with the weights gates [S]; or their mean. */
static void sum_row(double *o, const double *gates, const double *v, int S,
                    const oracle_hard_shape *s)
{
    double open = 0;
    for (int c = 0; c < s->D; c++) {
        o[c] = 0;
    }
    for (int j = 0; j < S; j++) {
        open += gates[j];
        for (int c = 0; c < s->D; c++) {
            o[c] += gates[j] * v[(int64_t)j * s->D + c];
        }
    }
    for (int c = 0; c < s->D && s->mean; c++) {
        o[c] /= fmax(1, open);
    }
}

void oracle_hard_attention(double *o, const double *gates, const double *v,
                           const oracle_hard_shape *s)
{
    for (int b = 0; b < s->B; b++) {
        const int S = s->k_offsets[b + 1] - s->k_offsets[b];
        for (int i = s->q_offsets[b]; i < s->q_offsets[b + 1]; i++, gates += S) {
            sum_row(o + (int64_t)i * s->D, gates, v + (int64_t)s->k_offsets[b] * s->D,
                    S, s);
        }
    }
}
