/* layer_norm.c - the definition of layer normalisation. */
#include <math.h>

#include "oracle/oracle.h"

void oracle_layer_norm(double *y, const double *x, const double *gamma,
                       const double *beta, int N, int D, double eps)
{
    for (int n = 0; n < N; n++, x += D, y += D) {
        double mean = 0, var = 0;
        for (int c = 0; c < D; c++) {
            mean += x[c] / D;
        }
        for (int c = 0; c < D; c++) {
            var += (x[c] - mean) * (x[c] - mean) / D;
        }
        for (int c = 0; c < D; c++) {
            y[c] = (x[c] - mean) / sqrt(var + eps) * gamma[c] + beta[c];
        }
    }
}
