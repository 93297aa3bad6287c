/* char_cnn.c - the definition: a convolution, ReLU, and the maximum along each word. */
#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"

void oracle_char_cnn(double *y, const double *x, const double *w, const double *b,
                     int B, const int32_t *offsets, const int32_t *len, int taps,
                     int in, int out)
{
    double *z = calloc((size_t)offsets[B] * (size_t)out + 1, sizeof *z);
    oracle_conv1d(z, x, w, b, B, offsets, taps, in, out, 1);
    for (int n = 0; n < B; n++) {
        const int rows = offsets[n + 1] - offsets[n];
        const int counted = len && len[n] < rows ? len[n] : rows;
        for (int o = 0; o < out; o++) {
            double best = 0;
            for (int t = 0; t < counted; t++) {
                best = fmax(best, z[((int64_t)offsets[n] + t) * out + o]);
            }
            y[(int64_t)n * out + o] = best;
        }
    }
    free(z);
}
