/* band_attention.c - attention of each head over abs(i - j) <= window / 2. */
#include <assert.h>
#include <stdlib.h>

#include "oracle/kind_attention.h"

extern const cla_signature cla_band_attention_signature; // of the launcher

void oracle_band_attention(double *o, const double *q, const double *k, const double *v,
                           const oracle_attention_shape *s)
{
    assert(s->window % 2 == 1 && s->area <= 1);
    oracle_attention(o, 0, q, k, v, s);
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_attention_options options = kind_options(c, NULL);
    return cla_band_attention(tape, y, c->in[0], c->in[1], c->in[2], c->rows[3],
                              (int)c->attribute[2], &options);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_attention_shape s = kind_attention(c, 3, 3);
    s.window = (int)c->attribute[2];
    oracle_band_attention(y[0], c->x[0], c->x[1], c->x[2], &s);
    free((double *)s.keep);
}

static kind_cost cost(const op_call *c, bool backward)
{
    return kind_band_cost(c, kind_size(c, "H"), backward);
}

static const op_kind band_attention_kind = {
    .signature = &cla_band_attention_signature,
    .attribute = { "causal=0|1", "dropout?", "window#" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const band_attention_kinds[] = { &band_attention_kind, NULL };
