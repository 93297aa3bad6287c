/* position_attention.c - the definition of attention with learned numbers for
 * positions. */
#include <assert.h>
#include <stdlib.h>

#include "oracle/kind_attention.h"

extern const cla_signature cla_position_attention_signature; // of the launcher

void oracle_position_attention(double *o, double *map, const double *q, const double *k,
                               const double *v, const oracle_attention_shape *s)
{
    assert(s->absolute || s->relative);
    oracle_attention(o, map, q, k, v, s);
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_attention_options options = kind_options(c, c->wanted[7] ? &y[1] : NULL);
    return cla_position_attention(tape, y, c->in[0], c->in[1], c->in[2], c->in[3],
                                  c->in[4], c->rows[5], &options);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_attention_shape s = kind_attention(c, 5, 5);
    s.absolute = c->x[3];
    s.relative = c->x[4];
    s.t = kind_size(c, "t");
    oracle_position_attention(y[0], y[1], c->x[0], c->x[1], c->x[2], &s);
    free((double *)s.keep);
}

static kind_cost cost(const op_call *c, bool backward)
{
    return kind_attention_cost(c, 5, 5, backward);
}

static const op_kind position_attention_kind = {
    .signature = &cla_position_attention_signature,
    .attribute = { "causal?", "dropout?" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const position_attention_kinds[] = { &position_attention_kind, NULL };
