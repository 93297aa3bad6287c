/* max_attention.c - the definition of rows summed by their best products. */
#include <math.h>

#include "oracle/oracle.h"

static double best_of(const double *q, const double *k, int first, int last, int d)
{
    double most = -INFINITY;
    for (int j = first; j < last; j++) {
        double dot = 0;
        for (int c = 0; c < d; c++) {
            dot += q[c] * k[(int64_t)j * d + c];
        }
        most = fmax(most, dot);
    }
    return most;
}

static void sum_rows(double *out, const double *q, const double *k, int b,
                     const oracle_ham_shape *s)
{
    const int first = s->q_offsets[b], last = s->q_offsets[b + 1];
    double all = 0, most = -INFINITY;
    for (int i = first; i < last; i++) {
        most = fmax(most, best_of(q + (int64_t)i * s->d, k, s->k_offsets[b],
                                  s->k_offsets[b + 1], s->d));
    }
    for (int i = first; i < last; i++) {
        const double *row = q + (int64_t)i * s->d;
        const double w =
            exp(best_of(row, k, s->k_offsets[b], s->k_offsets[b + 1], s->d) - most);
        all += w;
        for (int c = 0; c < s->d; c++) {
            out[c] += w * row[c];
        }
    }
    for (int c = 0; c < s->d; c++) {
        out[c] /= all;
    }
}

void oracle_max_attention(double *out, const double *q, const double *k,
                          const oracle_ham_shape *s)
{
    for (int b = 0; b < s->B; b++, out += s->d) {
        for (int c = 0; c < s->d; c++) {
            out[c] = 0;
        }
        if (s->q_offsets[b + 1] > s->q_offsets[b] &&
            s->k_offsets[b + 1] > s->k_offsets[b]) {
            sum_rows(out, q, k, b, s);
        }
    }
}
