/* cross_entropy.c - the definition of the smoothed cross entropy. */
#include <math.h>

#include "clattn/hard.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_cross_entropy_signature; // of the launcher

static double log_sum_exp(const double *x, int V)
{
    double top = -INFINITY, sum = 0;
    for (int c = 0; c < V; c++) {
        top = fmax(top, x[c]);
    }
    for (int c = 0; c < V; c++) {
        sum += exp(x[c] - top);
    }
    return top + log(sum);
}

double oracle_cross_entropy(const double *logits, const int32_t *targets, int N, int V,
                            double smoothing, const double *weights)
{
    double loss = 0;
    int count = 0;
    for (int n = 0; n < N; n++) {
        const double *x = logits + (int64_t)n * V;
        if (targets[n] < 0 || targets[n] >= V) {
            continue;
        }
        const double lse = log_sum_exp(x, V);
        for (int c = 0; c < V; c++) {
            const double q = c == targets[n] ? 1 - smoothing
                             : V > 1         ? smoothing / (V - 1)
                                             : 0;
            loss -= q * (x[c] - lse) * (weights ? weights[n] : 1);
        }
        count++;
    }
    return count ? loss / count : 0;
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_weighted_cross_entropy(tape, y, c->in[0], c->in[1],
                                      (float)c->attribute[0], c->in[2]);
}

static void oracle(double *const *y, const op_call *c)
{
    y[0][0] =
        oracle_cross_entropy(c->x[0], c->ids[1], kind_size(c, "N"), kind_size(c, "V"),
                             (double)(float)c->attribute[0], c->x[2]);
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double size = (double)kind_size(c, "N") * kind_size(c, "V");
    return (kind_cost){ (backward ? 9 : 5) * size, (backward ? 3 : 1) * 4 * size };
}

static const op_kind cross_entropy_kind = {
    .signature = &cla_cross_entropy_signature,
    .attribute = { "smoothing" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const cross_entropy_kinds[] = { &cross_entropy_kind, NULL };
