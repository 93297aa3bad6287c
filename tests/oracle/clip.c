/* clip.c - the definition of a norm. */
#include <math.h>

#include "oracle/oracle.h"

double oracle_norm(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}
