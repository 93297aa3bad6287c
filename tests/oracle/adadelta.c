/* adadelta.c - the definition of a step of AdaDelta. */
#include <math.h>

#include "oracle/oracle.h"

void oracle_adadelta(double *p, double *a, double *d, const double *g, int n, double lr,
                     double rho, double eps)
{
    for (int i = 0; i < n; i++) {
        a[i] = rho * a[i] + (1 - rho) * g[i] * g[i];
        const double u = sqrt(d[i] + eps) / sqrt(a[i] + eps) * g[i];
        d[i] = rho * d[i] + (1 - rho) * u * u;
        p[i] -= lr * u;
    }
}
