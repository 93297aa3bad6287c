/* top_k.c - the definition of the K likeliest classes. */
#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"

void oracle_top_k(double *logp, int32_t *id, const double *logits, int N, int V, int K)
{
    for (int n = 0; n < N; n++) {
        const double *x = logits + (int64_t)n * V;
        double sum = 0;
        for (int c = 0; c < V; c++) {
            sum += exp(x[c] - x[0]);
        }
        for (int c = 0; c < V; c++) { // rank: the number of classes before it
            int rank = 0;
            for (int other = 0; other < V; other++) {
                rank += x[other] > x[c] || (x[other] == x[c] && other < c);
            }
            if (rank < K) {
                id[n * K + rank] = c;
                logp[n * K + rank] = x[c] - x[0] - log(sum);
            }
        }
    }
}
