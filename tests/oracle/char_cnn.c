/* char_cnn.c - the definition: a convolution, ReLU, and the maximum along each word. */
#include <math.h>
#include <stdlib.h>

#include "clattn/ops.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_char_cnn_signature; // of the launcher

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_char_cnn(tape, y, c->in[0], c->in[1], c->in[2], c->rows[3], c->in[4]);
}

static void oracle(double *const *y, const op_call *c)
{
    const int B = kind_size(c, "B"), out = kind_size(c, "out");
    const int32_t *offsets = c->ids[3], *len = c->ids[4];
    double *z = calloc((size_t)offsets[B] * (size_t)out + 1, sizeof *z);
    oracle_conv1d(z, c->x[0], c->x[1], c->x[2], B, offsets, kind_size(c, "K"),
                  kind_size(c, "in"), out, 1);
    for (int n = 0; n < B; n++) {
        const int rows = offsets[n + 1] - offsets[n];
        const int counted = len && len[n] < rows ? len[n] : rows;
        for (int o = 0; o < out; o++) {
            double best = 0;
            for (int t = 0; t < counted; t++) {
                best = fmax(best, z[((int64_t)offsets[n] + t) * out + o]);
            }
            y[0][(int64_t)n * out + o] = best;
        }
    }
    free(z);
}

/* Backward, only the row of each maximum has a gradient: its products do not count. */
static kind_cost cost(const op_call *c, bool backward)
{
    const double N = kind_size(c, "N"), in = kind_size(c, "in"),
                 out = kind_size(c, "out");
    return (kind_cost){ 2.0 * N * kind_size(c, "K") * in * out,
                        (backward ? 4.0 : 2.0) * 2 * N * (in + out) };
}

static const op_kind char_cnn_kind = {
    .signature = &cla_char_cnn_signature,
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const char_cnn_kinds[] = { &char_cnn_kind, NULL };
