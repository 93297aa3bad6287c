/* gru.c - the definition of a gated recurrent unit along packed sequences. */
#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"

/* [x, h] w + b in column j of C */
static double column(const double *x, const double *h, const double *w, const double *b,
                     const oracle_cell *s, int C, int j)
{
    double sum = b ? b[j] : 0;
    for (int k = 0; k < s->in; k++) {
        sum += x[k] * w[(int64_t)k * C + j];
    }
    for (int k = 0; k < s->n; k++) {
        sum += h[k] * w[(int64_t)(s->in + k) * C + j];
    }
    return sum;
}

/* h [n] after one more x [in]; a has room for [3n]: u, r h, candidate. */
static void step(double *h, double *a, const double *x, const oracle_cell *s)
{
    const int n = s->n;
    for (int j = 0; j < n; j++) {
        const double r = oracle_sigmoid(column(x, h, s->w, s->b, s, 2 * n, j));
        a[j] = oracle_sigmoid(column(x, h, s->w, s->b, s, 2 * n, n + j));
        a[n + j] = r * h[j];
    }
    for (int j = 0; j < n; j++) {
        a[2 * n + j] = tanh(column(x, a + n, s->w_c, s->b_c, s, n, j));
    }
    for (int j = 0; j < n; j++) {
        h[j] = a[j] * h[j] + (1 - a[j]) * a[2 * n + j];
    }
}

void oracle_gru(double *y, double *h, const double *x, const double *h0,
                const oracle_cell *s)
{
    double *a = calloc(3 * (size_t)s->n + 1, sizeof *a);
    for (int b = 0; b < s->B; b++) {
        const int first = s->offsets[b], length = s->offsets[b + 1] - first;
        double *h_b = h + (int64_t)b * s->n;
        for (int j = 0; j < s->n; j++) {
            h_b[j] = h0 ? h0[b * s->n + j] : 0;
        }
        for (int t = 0; t < length; t++) {
            const int64_t row = first + (s->reverse ? length - 1 - t : t);
            step(h_b, a, x + row * s->in, s);
            for (int j = 0; j < s->n; j++) {
                y[row * s->n + j] = h_b[j];
            }
        }
    }
    free(a);
}
