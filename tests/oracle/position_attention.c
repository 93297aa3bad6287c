/* position_attention.c - the definition of attention with numbers for positions. */
#include <assert.h>

#include "oracle.h"

void oracle_position_attention(double *o, double *map, const double *q, const double *k,
                               const double *v, const oracle_attention_shape *s)
{
    assert(s->absolute || s->relative);
    oracle_attention(o, map, q, k, v, s);
}
