/* gaussian_attention.c - the definitions of attention with Gaussians around centres,
 * and of what centres and widths are made with. */
#include <assert.h>
#include <math.h>

#include "clattn/gaussian.h"
#include "ops/signatures.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

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

const op_kind length_sigmoid_kind = { &cla_length_sigmoid_signature,
                                      { "slope", "shift", "base" },
                                      device_length,
                                      length,
                                      NULL };
