/* sru.c - the definition of a simple recurrent unit along packed sequences. */
#include <math.h>

#include "oracle/oracle.h"

static double product(const double *x, const double *w, int in, int columns, int j)
{
    double sum = 0;
    for (int k = 0; k < in; k++) {
        sum += x[k] * w[(int64_t)k * columns + j];
    }
    return sum;
}

/* One token: y and c [n]. */
static void step(double *y, double *c, const double *x, const oracle_cell *s)
{
    const int n = s->n;
    for (int j = 0; j < n; j++) {
        const double z = product(x, s->w, s->in, n, j);
        const double f = oracle_sigmoid(product(x, s->w_c, s->in, 2 * n, j) +
                                        (s->b_c ? s->b_c[j] : 0));
        const double r = oracle_sigmoid(product(x, s->w_c, s->in, 2 * n, n + j) +
                                        (s->b_c ? s->b_c[n + j] : 0));
        c[j] = tanh(f * c[j] + (1 - f) * z);
        y[j] = r * c[j] + (1 - r) * z;
    }
}

void oracle_sru(double *y, double *c, const double *x, const double *c0,
                const oracle_cell *s)
{
    for (int b = 0; b < s->B; b++) {
        const int first = s->offsets[b], length = s->offsets[b + 1] - first;
        double *c_b = c + (int64_t)b * s->n;
        for (int j = 0; j < s->n; j++) {
            c_b[j] = c0 ? c0[b * s->n + j] : 0;
        }
        for (int t = 0; t < length; t++) {
            const int64_t row = first + (s->reverse ? length - 1 - t : t);
            step(y + row * s->n, c_b, x + row * s->in, s);
        }
    }
}
