/* conv1d.c - the definition of a convolution along packed sequences. */
#include <math.h>

#include "oracle/oracle.h"

static double activate(double x, int activation)
{
    return activation == 1 ? fmax(x, 0) : activation == 2 ? tanh(x) : x;
}

void oracle_conv1d(double *y, const double *x, const double *w, const double *b, int B,
                   const int32_t *offsets, int taps, int in, int out, int activation)
{
    for (int s = 0; s < B; s++) {
        for (int n = offsets[s]; n < offsets[s + 1]; n++) {
            for (int o = 0; o < out; o++) {
                double sum = b ? b[o] : 0;
                for (int u = 0; u < taps; u++) {
                    const int from = n + u - (taps - 1) / 2;
                    const bool inside = from >= offsets[s] && from < offsets[s + 1];
                    for (int c = 0; c < in && inside; c++) {
                        sum += w[((int64_t)u * in + c) * out + o] *
                               x[(int64_t)from * in + c];
                    }
                }
                y[(int64_t)n * out + o] = activate(sum, activation);
            }
        }
    }
}
