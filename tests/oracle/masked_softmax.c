/* masked_softmax.c - the definition of masked softmax. */
#include <math.h>

#include "clattn/ops.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_masked_softmax_signature; // of the launcher

static void row(double *y, const double *x, int S, int kept)
{
    double top = -INFINITY, total = 0;
    for (int s = 0; s < kept; s++) {
        top = fmax(top, x[s]);
    }
    for (int s = 0; s < kept; s++) {
        total += exp(x[s] - top);
    }
    for (int s = 0; s < S; s++) {
        y[s] = s < kept ? exp(x[s] - top) / total : 0;
    }
}

void oracle_masked_softmax(double *y, const double *x, int B, int H, int T, int S,
                           const int32_t *q_len, const int32_t *k_len, bool causal)
{
    for (int b = 0; b < B; b++) {
        for (int h = 0; h < H; h++) {
            for (int t = 0; t < T; t++) {
                int kept = 0;
                while (kept < S && (!k_len || kept < k_len[b]) &&
                       (!causal || kept <= t + S - T) && (!q_len || t < q_len[b])) {
                    kept++;
                }
                const int64_t at = (((int64_t)b * H + h) * T + t) * S;
                row(y + at, x + at, S, kept);
            }
        }
    }
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_masked_softmax(tape, y, c->in[0], c->in[1], c->in[2],
                              c->attribute[0] != 0);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_masked_softmax(y[0], c->x[0], kind_size(c, "B"), kind_size(c, "H"),
                          kind_size(c, "T"), kind_size(c, "S"), c->ids[1], c->ids[2],
                          c->attribute[0] != 0);
}

/* Counts maximum, difference, exp, sum and scale; backward, four more. */
static kind_cost cost(const op_call *c, bool backward)
{
    const double size = (double)kind_size(c, "B") * kind_size(c, "H") *
                        kind_size(c, "T") * kind_size(c, "S");
    return (kind_cost){ (backward ? 9 : 5) * size, (backward ? 20 : 8) * size };
}

static const op_kind masked_softmax_kind = {
    .signature = &cla_masked_softmax_signature,
    .attribute = { "causal=0|1" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const masked_softmax_kinds[] = { &masked_softmax_kind, NULL };
