/* additive_attention.c - the definition of additive attention. */
#include <math.h>

#include "oracle/oracle.h"

/* scores [S] of query i, and their softmax */
static void weigh(double *weights, double *scores, double *const *x, int i, int first,
                  int S, int inner)
{
    double top = -INFINITY, sum = 0;
    for (int j = 0; j < S; j++) {
        scores[j] = 0;
        for (int c = 0; c < inner; c++) {
            const double z =
                x[0][(int64_t)(first + j) * inner + c] + x[1][(int64_t)i * inner + c];
            scores[j] += x[2][c] * tanh(z);
        }
        top = fmax(top, scores[j]);
    }
    for (int j = 0; j < S; j++) {
        sum += exp(scores[j] - top);
    }
    for (int j = 0; j < S; j++) {
        weights[j] = exp(scores[j] - top) / sum;
    }
}

void oracle_additive_attention(double *context, double *weights, double *scores,
                               double *const *x, int inner, const oracle_hard_shape *s)
{
    for (int b = 0; b < s->B; b++) {
        const int first = s->k_offsets[b], S = s->k_offsets[b + 1] - first;
        for (int i = s->q_offsets[b]; i < s->q_offsets[b + 1]; i++) {
            weigh(weights, scores, x, i, first, S, inner);
            for (int c = 0; c < s->D; c++) {
                double z = 0;
                for (int j = 0; j < S; j++) {
                    z += weights[j] * x[3][(int64_t)(first + j) * s->D + c];
                }
                context[(int64_t)i * s->D + c] = z;
            }
            weights += S;
            scores += S;
        }
    }
}
