/* relative_attention.c - the definition of attention with vectors for relative
 * positions. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "oracle/kind_attention.h"

extern const cla_signature cla_relative_attention_signature; // of the launcher

/* A query of one head: its row, the keys that it sees, and their weights. */
typedef struct query {
    int row, h, first_key, at, S; // at: its position among the keys
    double *weight;               // [Smax]
} query;

static int64_t row_of(int distance, int R)
{
    return (distance < -R ? -R : distance > R ? R : distance) + R;
}

static void weigh(const query *one, const double *q, const double *k,
                  const double *rel_k, int R, const oracle_attention_shape *s)
{
    const double *x = q + ((int64_t)one->row * s->H + one->h) * s->d;
    double largest = -INFINITY, sum = 0;
    for (int j = 0; j < one->S; j++) {
        const double *y = k + ((int64_t)(one->first_key + j) * s->H + one->h) * s->d;
        const double *r = rel_k + row_of(j - one->at, R) * s->d;
        double score = 0;
        for (int c = 0; c < s->d; c++) {
            score += x[c] * (y[c] + r[c]);
        }
        const bool seen = !s->causal || j <= one->at;
        one->weight[j] = seen ? score / sqrt(s->d) : -INFINITY;
        largest = fmax(largest, one->weight[j]);
    }
    for (int j = 0; j < one->S; j++) {
        double *w = &one->weight[j];
        *w = *w == -INFINITY ? 0 : exp(*w - largest);
        sum += *w;
    }
    for (int j = 0; j < one->S && sum > 0; j++) {
        one->weight[j] /= sum;
    }
}

static void mix(double *o, const query *one, const double *v, const double *rel_v,
                int R, const oracle_attention_shape *s)
{
    const int64_t row = (int64_t)one->row * s->H + one->h;
    double *y = o + row * s->d;
    for (int c = 0; c < s->d; c++) {
        y[c] = 0;
    }
    for (int j = 0; j < one->S; j++) {
        const double keep = s->keep ? s->keep[row * s->Smax + j] : 1;
        const double *x = v + ((int64_t)(one->first_key + j) * s->H + one->h) * s->d;
        const double *r = rel_v + row_of(j - one->at, R) * s->d;
        const double w = one->weight[j] * keep;
        for (int c = 0; c < s->d && w != 0; c++) { // a hidden NaN adds nothing
            y[c] += w * (x[c] + r[c]);
        }
    }
}

void oracle_relative_attention(double *o, double *map, double *const *x, int R,
                               bool own, const oracle_attention_shape *s)
{
    int Tmax = 0;
    for (int b = 0; b < s->B; b++) {
        const int T = s->q_offsets[b + 1] - s->q_offsets[b];
        Tmax = T > Tmax ? T : Tmax;
    }
    double *weight = calloc((size_t)s->Smax + 1, sizeof *weight);
    for (int n = 0; n < s->B * s->H * Tmax; n++) {
        const int b = n / (s->H * Tmax), i = n % Tmax;
        const int T = s->q_offsets[b + 1] - s->q_offsets[b];
        const int S = s->k_offsets[b + 1] - s->k_offsets[b];
        const query one = {
            .row = s->q_offsets[b] + i,
            .h = n / Tmax % s->H,
            .first_key = s->k_offsets[b],
            .at = i + S - T,
            .S = S,
            .weight = weight,
        };
        for (int j = 0; j < s->Smax; j++) {
            weight[j] = 0;
        }
        if (i < T) {
            const int64_t table = own ? (int64_t)one.h * (2 * R + 1) * s->d : 0;
            weigh(&one, x[0], x[1], x[3] + table, R, s);
            mix(o, &one, x[2], x[4] + table, R, s);
        }
        for (int j = 0; map && j < s->Smax; j++) {
            map[(int64_t)n * s->Smax + j] = weight[j];
        }
    }
    free(weight);
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_attention_options options = kind_options(c, c->wanted[8] ? &y[1] : NULL);
    return cla_relative_attention(tape, y, c->in[0], c->in[1], c->in[2], c->in[3],
                                  c->in[4], c->rows[5], c->rows[6], &options);
}

static void oracle(double *const *y, const op_call *c)
{
    const oracle_attention_shape s = kind_attention(c, 5, 6);
    double *const x[] = { (double *)c->x[0], (double *)c->x[1], (double *)c->x[2],
                          (double *)c->x[3], (double *)c->x[4] };
    oracle_relative_attention(y[0], y[1], x, kind_size(c, "R"), kind_size(c, "Hr"), &s);
    free((double *)s.keep);
}

/* Adds the products of each query with each distance: two, backward six. */
static kind_cost cost(const op_call *c, bool backward)
{
    kind_cost all = kind_attention_cost(c, 5, 6, backward);
    all.flops += (2.0 * kind_size(c, "R") + 1) * kind_size(c, "Nq") *
                 kind_size(c, "H") * kind_size(c, "d") * 2 * (backward ? 6 : 2);
    return all;
}

static const op_kind relative_attention_kind = {
    .signature = &cla_relative_attention_signature,
    .attribute = { "causal?", "dropout?" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const relative_attention_kinds[] = { &relative_attention_kind, NULL };
