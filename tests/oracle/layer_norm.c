/* layer_norm.c - the definition of layer normalisation. */
#include <math.h>

#include "clattn/ops.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_layer_norm_signature; // of the launcher

void oracle_layer_norm(double *y, const double *x, const double *gamma,
                       const double *beta, int N, int D, double eps)
{
    for (int n = 0; n < N; n++, x += D, y += D) {
        double mean = 0, var = 0;
        for (int c = 0; c < D; c++) {
            mean += x[c] / D;
        }
        for (int c = 0; c < D; c++) {
            var += (x[c] - mean) * (x[c] - mean) / D;
        }
        for (int c = 0; c < D; c++) {
            y[c] = (x[c] - mean) / sqrt(var + eps) * gamma[c] + beta[c];
        }
    }
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_layer_norm(tape, y, c->in[0], c->in[1], c->in[2],
                          (float)c->attribute[0]);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_layer_norm(y[0], c->x[0], c->x[1], c->x[2], kind_size(c, "N"),
                      kind_size(c, "D"), (double)(float)c->attribute[0]);
}

static kind_cost cost(const op_call *c, bool backward)
{
    return (kind_cost){ .bytes = (backward ? 5.0 : 2.0) * 4 * kind_size(c, "N") *
                                 kind_size(c, "D") };
}

static const op_kind layer_norm_kind = {
    .signature = &cla_layer_norm_signature,
    .attribute = { "eps" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const layer_norm_kinds[] = { &layer_norm_kind, NULL };
