/* lstm.c - the definition of a long short-term memory along packed sequences. */
#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"

/* h and c [n] after one more x [in]; a has room for [4n]. */
static void step(double *h, double *c, double *a, const double *x, const oracle_cell *s)
{
    const int n = s->n, in = s->in;
    for (int j = 0; j < 4 * n; j++) {
        a[j] = s->b ? s->b[j] : 0;
        for (int k = 0; k < in; k++) {
            a[j] += x[k] * s->w[(int64_t)k * 4 * n + j];
        }
        for (int k = 0; k < n; k++) {
            a[j] += h[k] * s->w[(int64_t)(in + k) * 4 * n + j];
        }
    }
    for (int j = 0; j < n; j++) {
        c[j] = oracle_sigmoid(a[2 * n + j] + 1) * c[j] +
               oracle_sigmoid(a[j]) * tanh(a[n + j]);
        h[j] = oracle_sigmoid(a[3 * n + j]) * tanh(c[j]);
    }
}

void oracle_lstm(double *y, double *h, double *c, const double *x, const double *h0,
                 const double *c0, const oracle_cell *s)
{
    double *a = calloc(4 * (size_t)s->n + 1, sizeof *a);
    for (int b = 0; b < s->B; b++) {
        const int first = s->offsets[b], length = s->offsets[b + 1] - first;
        double *h_b = h + (int64_t)b * s->n, *c_b = c + (int64_t)b * s->n;
        for (int j = 0; j < s->n; j++) {
            h_b[j] = h0 ? h0[b * s->n + j] : 0;
            c_b[j] = c0 ? c0[b * s->n + j] : 0;
        }
        for (int t = 0; t < length; t++) {
            const int64_t row = first + (s->reverse ? length - 1 - t : t);
            step(h_b, c_b, a, x + row * s->in, s);
            for (int j = 0; j < s->n; j++) {
                y[row * s->n + j] = h_b[j];
            }
        }
    }
    free(a);
}
