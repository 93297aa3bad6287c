/* adam.c - the definition of a step of Adam. */
#include <math.h>

#include "oracle/oracle.h"

void oracle_adam(double *p, double *m, double *v, const double *g, int n, int step,
                 double lr, double beta1, double beta2, double eps)
{
    for (int i = 0; i < n; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * g[i];
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        const double mean = m[i] / (1 - pow(beta1, step));
        const double square = v[i] / (1 - pow(beta2, step));
        p[i] -= lr * mean / (sqrt(square) + eps);
    }
}
