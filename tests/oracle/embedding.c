/* embedding.c - the definition of a look-up. */
#include "oracle/oracle.h"

void oracle_embedding(double *y, const double *table, const int32_t *ids, int N, int D,
                      int V, double scale)
{
    for (int n = 0; n < N; n++) {
        const bool known = ids[n] >= 0 && ids[n] < V;
        for (int c = 0; c < D; c++) {
            y[(int64_t)n * D + c] = known ? scale * table[(int64_t)ids[n] * D + c] : 0;
        }
    }
}
