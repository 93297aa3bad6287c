/* rmsprop.c - the definition of a step of RMSprop. */
#include <math.h>

#include "oracle/oracle.h"

void oracle_rmsprop(double *p, double *a, const double *g, int n, double lr, double rho,
                    double eps)
{
    for (int i = 0; i < n; i++) {
        a[i] = rho * a[i] + (1 - rho) * g[i] * g[i];
        p[i] -= lr * g[i] / (sqrt(a[i]) + eps);
    }
}
