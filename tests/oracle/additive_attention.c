/* additive_attention.c - the definition of additive attention. */
#include <math.h>
#include <stdlib.h>

#include "clattn/ham.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_additive_attention_signature; // of the launcher

/* Computes the scores [S] of query i and their softmax. */
static void weigh(double *weights, double *scores, double *const *x, int i, int first,
                  int S, int inner)
{
    double top = -INFINITY, sum = 0;
    for (int j = 0; j < S; j++) {
        scores[j] = 0;
        for (int c = 0; c < inner; c++) {
            const double z =
                x[0][(int64_t)(first + j) * inner + c] + x[1][(int64_t)i * inner + c];
            scores[j] += x[2][c] * tanh(z);
        }
        top = fmax(top, scores[j]);
    }
    for (int j = 0; j < S; j++) {
        sum += exp(scores[j] - top);
    }
    for (int j = 0; j < S; j++) {
        weights[j] = exp(scores[j] - top) / sum;
    }
}

void oracle_additive_attention(double *context, double *weights, double *scores,
                               double *const *x, int inner, const oracle_hard_shape *s)
{
    for (int b = 0; b < s->B; b++) {
        const int first = s->k_offsets[b], S = s->k_offsets[b + 1] - first;
        for (int i = s->q_offsets[b]; i < s->q_offsets[b + 1]; i++) {
            weigh(weights, scores, x, i, first, S, inner);
            for (int c = 0; c < s->D; c++) {
                double z = 0;
                for (int j = 0; j < S; j++) {
                    z += weights[j] * x[3][(int64_t)(first + j) * s->D + c];
                }
                context[(int64_t)i * s->D + c] = z;
            }
            weights += S;
            scores += S;
        }
    }
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_additive_options options = { .weights = c->wanted[7] ? &y[1] : NULL,
                                           .scores = c->wanted[8] ? &y[2] : NULL };
    return cla_additive_attention(tape, y, c->in[0], c->in[1], c->in[2], c->in[3],
                                  c->rows[4], c->rows[5], &options);
}

static void oracle(double *const *y, const op_call *c)
{
    const oracle_hard_shape s = { .B = kind_size(c, "B"),
                                  .D = kind_size(c, "d"),
                                  .q_offsets = c->ids[4],
                                  .k_offsets = c->ids[5] };
    double *const x[] = { (double *)c->x[0], (double *)c->x[1], (double *)c->x[2],
                          (double *)c->x[3] };
    const int P = kind_size(c, "P");
    double *maps = calloc(2 * (size_t)P + 1, sizeof *maps);
    oracle_additive_attention(y[0], y[1] ? y[1] : maps, y[2] ? y[2] : maps + P, x,
                              kind_size(c, "a"), &s);
    free(maps);
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double P = kind_size(c, "P"), a = kind_size(c, "a"), d = kind_size(c, "d");
    const double tanhs = P * a, sums = 2 * P * d;
    return (kind_cost){ backward ? 50 * tanhs + 3 * sums : 20 * tanhs + sums,
                        4.0 * kind_size(c, "Nk") * (a + d) * (backward ? 4 : 1) };
}

static const op_kind additive_attention_kind = {
    .signature = &cla_additive_attention_signature,
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const additive_attention_kinds[] = { &additive_attention_kind, NULL };
