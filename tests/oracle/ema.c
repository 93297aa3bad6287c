/* ema.c - the definition of a running mean. */
#include "oracle/oracle.h"

void oracle_ema(double *e, const double *p, int n, double decay)
{
    for (int i = 0; i < n; i++) {
        e[i] = decay * e[i] + (1 - decay) * p[i];
    }
}
