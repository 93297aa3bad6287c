/* multinomial.c - the definition of a class drawn by the probabilities. */
#include <math.h>

#include "oracle/oracle.h"

void oracle_multinomial(int32_t *id, double *before, const double *logits,
                        const double *u, int N, int V)
{
    for (int n = 0; n < N; n++) {
        const double *x = logits + (int64_t)n * V;
        double total = 0, sum = 0;
        for (int c = 0; c < V; c++) {
            total += exp(x[c] - x[0]);
        }
        id[n] = 0;
        for (int c = 0; c < V; c++) {
            before[(int64_t)n * V + c] = sum / total;
            id[n] = sum / total <= u[n] ? c : id[n];
            sum += exp(x[c] - x[0]);
        }
    }
}
