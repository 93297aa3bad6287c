/* depthwise_conv1d.c - the definition of a convolution of each channel by itself. */
#include "oracle/oracle.h"

void oracle_depthwise_conv1d(double *y, const double *x, const double *w, int B,
                             const int32_t *offsets, int taps, int D)
{
    for (int b = 0; b < B; b++) {
        for (int n = offsets[b]; n < offsets[b + 1]; n++) {
            for (int c = 0; c < D; c++) {
                double sum = 0;
                for (int u = 0; u < taps; u++) {
                    const int from = n + u - (taps - 1) / 2;
                    if (from >= offsets[b] && from < offsets[b + 1]) {
                        sum += x[(int64_t)from * D + c] * w[(int64_t)u * D + c];
                    }
                }
                y[(int64_t)n * D + c] = sum;
            }
        }
    }
}
