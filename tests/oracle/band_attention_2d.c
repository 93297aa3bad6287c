/* band_attention_2d.c - attention over a window and an area of heads, one softmax. */
#include <assert.h>

#include "oracle/oracle.h"

void oracle_band_attention_2d(double *o, const double *q, const double *k,
                              const double *v, const oracle_attention_shape *s)
{
    assert(s->window % 2 == 1 && s->area % 2 == 1);
    oracle_attention(o, 0, q, k, v, s);
}
