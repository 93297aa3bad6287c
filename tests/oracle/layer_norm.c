/* layer_norm.c - the definitions of layer_norm and rms_norm. */
#include <math.h>

#include "clattn/feed.h"
#include "clattn/ops.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_layer_norm_signature,
    cla_rms_norm_signature; // of the launcher

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

static cla_status device_rms(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_rms_norm(tape, y, c->in[0], c->in[1], (float)c->attribute[0]);
}

static void oracle_rms(double *const *y, const op_call *c)
{
    const int N = kind_size(c, "N"), D = kind_size(c, "D");
    const double eps = (double)(float)c->attribute[0], *x = c->x[0];
    for (int64_t n = 0; n < N; n++) {
        double square = 0;
        for (int64_t k = 0; k < D; k++) {
            square += x[n * D + k] * x[n * D + k] / D;
        }
        for (int64_t k = 0; k < D; k++) {
            y[0][n * D + k] = x[n * D + k] / sqrt(square + eps) * c->x[1][k];
        }
    }
}

static const op_kind rms_norm_kind = {
    .signature = &cla_rms_norm_signature,
    .attribute = { "eps" },
    .device = device_rms,
    .oracle = oracle_rms,
    .cost = cost,
};

const op_kind *const layer_norm_kinds[] = { &layer_norm_kind, &rms_norm_kind, NULL };
