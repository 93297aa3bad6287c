/* gaussian_attention.c - the definitions of attention with Gaussians around centres,
 * and of the sigmoid that makes centres and widths. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "clattn/gaussian.h"
#include "oracle/kind_attention.h"

extern const cla_signature cla_length_sigmoid_signature,
    cla_gaussian_attention_signature, cla_gaussian_by_head_signature; // of the launcher

void oracle_gaussian_attention(double *o, double *map, const double *q, const double *k,
                               const double *v, const oracle_attention_shape *s)
{
    assert(s->sigma);
    oracle_attention(o, map, q, k, v, s);
}

void oracle_length_sigmoid(double *y, const double *x, int B, int C,
                           const int32_t *offsets, double slope, double shift,
                           double base)
{
    for (int b = 0; b < B; b++) {
        const double most = slope * (offsets[b + 1] - offsets[b]) + shift;
        for (int64_t i = (int64_t)offsets[b] * C; i < (int64_t)offsets[b + 1] * C;
             i++) {
            y[i] = most / (1 + exp(-x[i])) + base;
        }
    }
}

static cla_status device_length(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_length_sigmoid(tape, y, c->in[0], c->rows[1], (float)c->attribute[0],
                              (float)c->attribute[1], (float)c->attribute[2]);
}

static void length(double *const *y, const op_call *c)
{
    oracle_length_sigmoid(y[0], c->x[0], kind_size(c, "B"), kind_size(c, "C"),
                          c->ids[1], c->attribute[0], c->attribute[1], c->attribute[2]);
}

static const op_kind length_sigmoid_kind = {
    .signature = &cla_length_sigmoid_signature,
    .attribute = { "slope", "shift", "base" },
    .device = device_length,
    .oracle = length,
};

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_attention_options options = kind_options(c, c->wanted[7] ? &y[1] : NULL);
    const float reach = c->attribute[2] > 0 ? (float)c->attribute[2] : INFINITY;
    const cla_gaussian shape = { c->in[3], c->in[4], reach };
    return cla_gaussian_attention(tape, y, c->in[0], c->in[1], c->in[2], &shape,
                                  c->rows[5], &options);
}

static void attend(double *const *y, const op_call *c, bool by_head)
{
    oracle_attention_shape s = kind_attention(c, 5, 5);
    s.center = c->x[3];
    s.sigma = c->x[4];
    s.one_sigma = by_head;
    s.reach = c->attribute[2] > 0 ? c->attribute[2] : INFINITY;
    oracle_gaussian_attention(y[0], y[1], c->x[0], c->x[1], c->x[2], &s);
    free((double *)s.keep);
}

static void oracle(double *const *y, const op_call *c)
{
    attend(y, c, false);
}

static void oracle_by_head(double *const *y, const op_call *c)
{
    attend(y, c, true);
}

static const op_kind gaussian_attention_kind = {
    .signature = &cla_gaussian_attention_signature,
    .attribute = { "causal?", "dropout?", "reach?" },
    .device = device,
    .oracle = oracle,
};

static const op_kind gaussian_by_head_kind = {
    .signature = &cla_gaussian_by_head_signature,
    .attribute = { "causal?", "dropout?", "reach?" },
    .device = device,
    .oracle = oracle_by_head,
    .name = "gaussian_by_head",
};

const op_kind *const gaussian_attention_kinds[] = { &length_sigmoid_kind,
                                                    &gaussian_attention_kind,
                                                    &gaussian_by_head_kind, NULL };
