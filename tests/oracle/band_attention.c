/* band_attention.c - attention over abs(i - j) <= window / 2, own head. */
#include <assert.h>

#include "oracle/oracle.h"

void oracle_band_attention(double *o, const double *q, const double *k, const double *v,
                           const oracle_attention_shape *s)
{
    assert(s->window % 2 == 1 && s->area <= 1);
    oracle_attention(o, 0, q, k, v, s);
}
