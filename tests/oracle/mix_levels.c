/* mix_levels.c - the definition of a mixture of levels. */
#include "oracle/oracle.h"

void oracle_mix_levels(double *out, double *const *x, int depth, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int l = 0; l < depth; l++) {
            out[i] += oracle_level_weight(x[depth], depth, l) * x[l][i];
        }
    }
}
