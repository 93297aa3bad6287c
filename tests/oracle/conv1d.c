/* conv1d.c - the definition of a convolution along packed sequences. */
#include <math.h>

#include "clattn/ops.h"
#include "ops/activation.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_conv1d_signature; // of the launcher

void oracle_conv1d(double *y, const double *x, const double *w, const double *b, int B,
                   const int32_t *offsets, int taps, int in, int out, int activation)
{
    for (int s = 0; s < B; s++) {
        for (int n = offsets[s]; n < offsets[s + 1]; n++) {
            for (int o = 0; o < out; o++) {
                double sum = b ? b[o] : 0;
                for (int u = 0; u < taps; u++) {
                    const int from = n + u - (taps - 1) / 2;
                    const bool inside = from >= offsets[s] && from < offsets[s + 1];
                    for (int c = 0; c < in && inside; c++) {
                        sum += w[((int64_t)u * in + c) * out + o] *
                               x[(int64_t)from * in + c];
                    }
                }
                y[(int64_t)n * out + o] =
                    cla_activation_of((cla_activation)activation, sum);
            }
        }
    }
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_conv1d(tape, y, c->in[0], c->in[1], c->in[2], c->rows[3],
                      (cla_activation)c->attribute[0]);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_conv1d(y[0], c->x[0], c->x[1], c->x[2], kind_size(c, "B"), c->ids[3],
                  kind_size(c, "K"), kind_size(c, "in"), kind_size(c, "out"),
                  (int)c->attribute[0]);
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double N = kind_size(c, "N"), in = kind_size(c, "in"),
                 out = kind_size(c, "out");
    return (kind_cost){ (backward ? 6.0 : 2.0) * N * kind_size(c, "K") * in * out,
                        (backward ? 7.0 : 2.0) * 2 * N * (in + out) };
}

static const op_kind conv1d_kind = {
    .signature = &cla_conv1d_signature,
    .attribute = { ORACLE_ACTIVATIONS },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const conv1d_kinds[] = { &conv1d_kind, NULL };
