/* depthwise_conv1d.c - the definition of a convolution of each channel by itself. */
#include "clattn/ops.h"
#include "oracle/kind.h"

extern const cla_signature cla_depthwise_conv1d_signature; // of the launcher

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_depthwise_conv1d(tape, y, c->in[0], c->in[1], c->rows[2]);
}

static void oracle(double *const *y, const op_call *call)
{
    const int taps = kind_size(call, "K"), D = kind_size(call, "D");
    const double *x = call->x[0], *w = call->x[1];
    const int32_t *offsets = call->ids[2];
    for (int b = 0; b < kind_size(call, "B"); b++) {
        for (int n = offsets[b]; n < offsets[b + 1]; n++) {
            for (int c = 0; c < D; c++) {
                double sum = 0;
                for (int u = 0; u < taps; u++) {
                    const int from = n + u - (taps - 1) / 2;
                    if (from >= offsets[b] && from < offsets[b + 1]) {
                        sum += x[(int64_t)from * D + c] * w[(int64_t)u * D + c];
                    }
                }
                y[0][(int64_t)n * D + c] = sum;
            }
        }
    }
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double times = backward ? 6 : 2,
                 size = (double)kind_size(c, "N") * kind_size(c, "D");
    return (kind_cost){ times * size * kind_size(c, "K"), times * 4 * size };
}

static const op_kind depthwise_conv1d_kind = {
    .signature = &cla_depthwise_conv1d_signature,
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const depthwise_conv1d_kinds[] = { &depthwise_conv1d_kind, NULL };
