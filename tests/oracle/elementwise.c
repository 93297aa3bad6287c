/* elementwise.c - the definitions of products, gate, concat and scaled heads; sums need
 * none. */
#include <math.h>

#include "oracle/oracle.h"

void oracle_multiply(double *y, const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        y[i] = a[i] * b[i];
    }
}

void oracle_gate(double *y, const double *x, const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        const double s = 1 / (1 + exp(-x[i]));
        y[i] = s * a[i] + (1 - s) * b[i];
    }
}

void oracle_concat(double *y, const double *a, const double *b, int N, int Ca, int Cb)
{
    for (int n = 0; n < N; n++) {
        for (int c = 0; c < Ca + Cb; c++) {
            const double *row =
                c < Ca ? a + (int64_t)n * Ca + c : b + (int64_t)n * Cb + (c - Ca);
            y[(int64_t)n * (Ca + Cb) + c] = *row;
        }
    }
}

void oracle_scale_heads(double *y, const double *x, const double *gamma, int N, int H,
                        int d)
{
    for (int64_t i = 0; i < (int64_t)N * H * d; i++) {
        y[i] = gamma[i / d % H] * x[i];
    }
}
