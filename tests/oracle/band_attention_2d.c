/* band_attention_2d.c - attention over a window and an area of heads, one softmax. */
#include <assert.h>
#include <stdlib.h>

#include "oracle/kind_attention.h"

extern const cla_signature cla_band_attention_2d_signature; // of the launcher

void oracle_band_attention_2d(double *o, const double *q, const double *k,
                              const double *v, const oracle_attention_shape *s)
{
    assert(s->window % 2 == 1 && s->area % 2 == 1);
    oracle_attention(o, 0, q, k, v, s);
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_attention_options options = kind_options(c, NULL);
    return cla_band_attention_2d(tape, y, c->in[0], c->in[1], c->in[2], c->rows[3],
                                 (int)c->attribute[2], (int)c->attribute[3],
                                 (cla_edge)c->attribute[4], &options);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_attention_shape s = kind_attention(c, 3, 3);
    s.window = (int)c->attribute[2];
    s.area = (int)c->attribute[3];
    s.edge = (int)c->attribute[4];
    oracle_band_attention_2d(y[0], c->x[0], c->x[1], c->x[2], &s);
    free((double *)s.keep);
}

/* Counts the pairs of heads of which one attends to the other; areas end at the first
 * and the last head. */
static kind_cost cost(const op_call *c, bool backward)
{
    const int most = kind_size(c, "H") - 1, side = (int)c->attribute[3] / 2;
    const double heads = most + 1, u = side < most ? side : most;
    return kind_band_cost(c, heads * (2 * u + 1) - u * (u + 1), backward);
}

static const op_kind band_attention_2d_kind = {
    .signature = &cla_band_attention_2d_signature,
    .attribute = { "causal=0|1", "dropout?", "window#", "heads#",
                   "edge=truncate|wrap|author" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const band_attention_2d_kinds[] = { &band_attention_2d_kind, NULL };
