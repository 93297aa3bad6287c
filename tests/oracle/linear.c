/* linear.c - the definition of the linear layer. */
#include <math.h>

#include "clattn/feed.h"
#include "clattn/ops.h"
#include "ops/activation.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_linear_signature,
    cla_tied_linear_signature; // of the launcher

void oracle_linear(double *y, const double *x, const double *w, const double *b,
                   const double *residual, int N, int in, int out, int activation)
{
    for (int64_t n = 0; n < N; n++) {
        for (int64_t o = 0; o < out; o++) {
            double sum = b ? b[o] : 0;
            for (int64_t i = 0; i < in; i++) {
                sum += x[n * in + i] * w[i * out + o];
            }
            y[n * out + o] = cla_activation_of((cla_activation)activation, sum) +
                             (residual ? residual[n * out + o] : 0);
        }
    }
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_linear(tape, y, c->in[0], c->in[1], c->in[2],
                      (cla_activation)c->attribute[0], c->in[3]);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_linear(y[0], c->x[0], c->x[1], c->x[2], c->x[3], kind_size(c, "N"),
                  kind_size(c, "in"), kind_size(c, "out"), (int)c->attribute[0]);
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double N = kind_size(c, "N"), in = kind_size(c, "in"),
                 out = kind_size(c, "out");
    return (kind_cost){ (backward ? 3.0 : 1.0) * 2 * N * in * out,
                        4.0 * (N * (in + out) + in * out) };
}

static const op_kind linear_kind = {
    .signature = &cla_linear_signature,
    .attribute = { ORACLE_ACTIVATIONS },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

void oracle_tied_linear(double *y, const double *x, const double *w, const double *b,
                        int N, int in, int out)
{
    for (int64_t n = 0; n < N; n++) {
        for (int64_t o = 0; o < out; o++) {
            double sum = b ? b[o] : 0;
            for (int64_t i = 0; i < in; i++) {
                sum += x[n * in + i] * w[o * in + i];
            }
            y[n * out + o] = sum;
        }
    }
}

static cla_status tied_device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_tied_linear(tape, y, c->in[0], c->in[1], c->in[2]);
}

static void tied_oracle(double *const *y, const op_call *c)
{
    oracle_tied_linear(y[0], c->x[0], c->x[1], c->x[2], kind_size(c, "N"),
                       kind_size(c, "in"), kind_size(c, "out"));
}

static const op_kind tied_linear_kind = {
    .signature = &cla_tied_linear_signature,
    .device = tied_device,
    .oracle = tied_oracle,
};

const op_kind *const linear_kinds[] = { &linear_kind, &tied_linear_kind, NULL };
