/* linear.c - the definition of the linear layer. */
#include <math.h>

#include "oracle/oracle.h"

void oracle_linear(double *y, const double *x, const double *w, const double *b,
                   const double *residual, int N, int in, int out, int activation)
{
    for (int64_t n = 0; n < N; n++) {
        for (int64_t o = 0; o < out; o++) {
            double sum = b ? b[o] : 0;
            for (int64_t i = 0; i < in; i++) {
                sum += x[n * in + i] * w[i * out + o];
            }
            const double act = activation == 1   ? fmax(sum, 0)
                               : activation == 2 ? tanh(sum)
                                                 : sum;
            y[n * out + o] = act + (residual ? residual[n * out + o] : 0);
        }
    }
}
