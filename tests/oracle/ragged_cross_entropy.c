/* ragged_cross_entropy.c - the definition of the loss of a pointer. */
#include <math.h>

#include "oracle/oracle.h"

double oracle_ragged_cross_entropy(const double *x, const int32_t *targets, int B,
                                   const int32_t *offsets, bool given, double least)
{
    double total = 0;
    int counted = 0;
    for (int b = 0; b < B; b++) {
        const int first = offsets[b], length = offsets[b + 1] - first;
        double top = -INFINITY, sum = 0;
        if (targets[b] < 0 || targets[b] >= length) {
            continue;
        }
        for (int n = 0; n < length; n++) {
            top = fmax(top, x[first + n]);
        }
        for (int n = 0; n < length; n++) {
            sum += exp(x[first + n] - top);
        }
        const double gold = x[first + targets[b]];
        total += given ? -log(gold + least) : top + log(sum) - gold;
        counted++;
    }
    return counted ? total / counted : 0;
}
