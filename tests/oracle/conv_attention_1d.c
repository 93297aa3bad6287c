/* conv_attention_1d.c - the definition of attention with a filter over rows of its
 * map. */
#include <math.h>
#include <stdlib.h>

#include "clattn/ops.h"
#include "ops/activation.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_conv_attention_1d_signature; // of the launcher

/* Computes p [T,T], the softmax of the scores of one sequence and head. Rows of q and k
 * are H*d apart. */
static void probabilities(double *p, const double *q, const double *k, int T, int H,
                          int d)
{
    for (int i = 0; i < T; i++, p += T) {
        double top = -INFINITY, total = 0;
        for (int j = 0; j < T; j++) {
            p[j] = 0;
            for (int c = 0; c < d; c++) {
                p[j] += q[(int64_t)i * H * d + c] * k[(int64_t)j * H * d + c] / sqrt(d);
            }
            top = fmax(top, p[j]);
        }
        for (int j = 0; j < T; j++) {
            total += exp(p[j] - top);
        }
        for (int j = 0; j < T; j++) {
            p[j] = exp(p[j] - top) / total;
        }
    }
}

/* Returns s[i][o] of one head; w [3,t,t], b [t]. */
static double filtered(const double *p, const double *w, const double *b, int T, int t,
                       int i, int o)
{
    double sum = b[o];
    for (int u = 0; u < 3; u++) {
        const int row = i + u - 1;
        for (int c = 0; c < T && row >= 0 && row < T; c++) {
            sum += p[row * T + c] * w[((int64_t)u * t + c) * t + o];
        }
    }
    return sum;
}

void oracle_conv_attention_1d(double *o, const double *q, const double *k,
                              const double *v, const double *w, const double *b, int B,
                              int H, int d, const int32_t *offsets, int t,
                              int activation)
{
    double *p = calloc((size_t)t * (size_t)t + 1, sizeof *p);
    for (int s = 0; s < B * H; s++) {
        const int h = s % H, first = offsets[s / H], T = offsets[s / H + 1] - first;
        const int64_t at = ((int64_t)first * H + h) * d;
        probabilities(p, q + at, k + at, T, H, d);
        for (int i = 0; i < T; i++) {
            double *out = o + at + (int64_t)i * H * d;
            for (int c = 0; c < d; c++) {
                out[c] = 0;
            }
            for (int j = 0; j < T; j++) {
                const double x = cla_activation_of(
                    (cla_activation)activation,
                    filtered(p, w + (int64_t)h * 3 * t * t, b + h * t, T, t, i, j));
                for (int c = 0; c < d; c++) {
                    out[c] += x * v[at + (int64_t)j * H * d + c];
                }
            }
        }
    }
    free(p);
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_conv_attention_1d(tape, y, c->in[0], c->in[1], c->in[2], c->in[3],
                                 c->in[4], c->rows[5], (cla_activation)c->attribute[0],
                                 NULL);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_conv_attention_1d(y[0], c->x[0], c->x[1], c->x[2], c->x[3], c->x[4],
                             kind_size(c, "B"), kind_size(c, "H"), kind_size(c, "d"),
                             c->ids[5], kind_size(c, "t"), (int)c->attribute[0]);
}

/* Counts maps as wide as their filters. */
static kind_cost cost(const op_call *c, bool backward)
{
    const double row = (double)kind_size(c, "H") * kind_size(c, "N");
    const double t = kind_size(c, "t"), d = kind_size(c, "d");
    return (kind_cost){ 2 * row * t * (backward ? 6 * d + 9 * t : 2 * d + 3 * t),
                        (backward ? 44 : 16) * row * d };
}

static const op_kind conv_attention_1d_kind = {
    .signature = &cla_conv_attention_1d_signature,
    .attribute = { ORACLE_FUSED },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const conv_attention_1d_kinds[] = { &conv_attention_1d_kind, NULL };
