/* max_attention.c - the definition of the sum of rows weighted by their best
 * products. */
#include <math.h>
#include <stdlib.h>

#include "clattn/ham.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_max_attention_signature; // of the launcher

static double best_of(const double *q, const double *k, int first, int last, int d)
{
    double most = -INFINITY;
    for (int j = first; j < last; j++) {
        double dot = 0;
        for (int c = 0; c < d; c++) {
            dot += q[c] * k[(int64_t)j * d + c];
        }
        most = isnan(most) || dot <= most ? most : dot;
    }
    return most;
}

static void sum_rows(double *out, const double *q, const double *k, int b,
                     const oracle_ham_shape *s)
{
    const int first = s->q_offsets[b], last = s->q_offsets[b + 1];
    double all = 0, most = -INFINITY;
    for (int i = first; i < last; i++) {
        most = fmax(most, best_of(q + (int64_t)i * s->d, k, s->k_offsets[b],
                                  s->k_offsets[b + 1], s->d));
    }
    for (int i = first; i < last; i++) {
        const double *row = q + (int64_t)i * s->d;
        const double w =
            exp(best_of(row, k, s->k_offsets[b], s->k_offsets[b + 1], s->d) - most);
        all += w;
        for (int c = 0; c < s->d; c++) {
            out[c] += w * row[c];
        }
    }
    for (int c = 0; c < s->d; c++) {
        out[c] /= all;
    }
}

void oracle_max_attention(double *out, const double *q, const double *k,
                          const oracle_ham_shape *s)
{
    for (int b = 0; b < s->B; b++, out += s->d) {
        for (int c = 0; c < s->d; c++) {
            out[c] = 0;
        }
        if (s->q_offsets[b + 1] > s->q_offsets[b] &&
            s->k_offsets[b + 1] > s->k_offsets[b]) {
            sum_rows(out, q, k, b, s);
        }
    }
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_max_attention(tape, y, c->in[0], c->in[1], c->rows[2], c->rows[3]);
}

static void oracle(double *const *y, const op_call *c)
{
    const oracle_ham_shape s = { .B = kind_size(c, "B"),
                                 .d = kind_size(c, "d"),
                                 .q_offsets = c->ids[2],
                                 .k_offsets = c->ids[3] };
    oracle_max_attention(y[0], c->x[0], c->x[1], &s);
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double d = kind_size(c, "d"), Nq = kind_size(c, "Nq"),
                 Nk = kind_size(c, "Nk");
    return (kind_cost){ 2 * d * (kind_size(c, "P") + Nq * (backward ? 5 : 1)),
                        4 * d * (Nq * (backward ? 5 : 2) + Nk * (backward ? 3 : 1)) };
}

static const op_kind max_attention_kind = {
    .signature = &cla_max_attention_signature,
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const max_attention_kinds[] = { &max_attention_kind, NULL };
