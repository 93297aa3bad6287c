/* gru.c - the definition of a gated recurrent unit along packed sequences. */
#include <math.h>
#include <stdlib.h>

#include "clattn/recurrent.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_gru_signature; // of the launcher

/* Returns column j of the C columns of [x, h] w + b. */
static double column(const double *x, const double *h, const double *w, const double *b,
                     const oracle_cell *s, int C, int j)
{
    double sum = b ? b[j] : 0;
    for (int k = 0; k < s->in; k++) {
        sum += x[k] * w[(int64_t)k * C + j];
    }
    for (int k = 0; k < s->n; k++) {
        sum += h[k] * w[(int64_t)(s->in + k) * C + j];
    }
    return sum;
}

/* Advances h [n] by one token x [in]; a has room for [3n]: u, r h, candidate. */
static void step(double *h, double *a, const double *x, const oracle_cell *s)
{
    const int n = s->n;
    for (int j = 0; j < n; j++) {
        const double r = oracle_sigmoid(column(x, h, s->w, s->b, s, 2 * n, j));
        a[j] = oracle_sigmoid(column(x, h, s->w, s->b, s, 2 * n, n + j));
        a[n + j] = r * h[j];
    }
    for (int j = 0; j < n; j++) {
        a[2 * n + j] = tanh(column(x, a + n, s->w_c, s->b_c, s, n, j));
    }
    for (int j = 0; j < n; j++) {
        h[j] = a[j] * h[j] + (1 - a[j]) * a[2 * n + j];
    }
}

void oracle_gru(double *y, double *h, const double *x, const double *h0,
                const oracle_cell *s)
{
    double *a = calloc(3 * (size_t)s->n + 1, sizeof *a);
    for (int b = 0; b < s->B; b++) {
        const int first = s->offsets[b], length = s->offsets[b + 1] - first;
        double *h_b = h + (int64_t)b * s->n;
        for (int j = 0; j < s->n; j++) {
            h_b[j] = h0 ? h0[b * s->n + j] : 0;
        }
        for (int t = 0; t < length; t++) {
            const int64_t row = first + (s->reverse ? length - 1 - t : t);
            step(h_b, a, x + row * s->in, s);
            for (int j = 0; j < s->n; j++) {
                y[row * s->n + j] = h_b[j];
            }
        }
    }
    free(a);
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_recurrent_options options = { .reverse = c->attribute[0] != 0,
                                            .h0 = c->in[6],
                                            .h = c->wanted[8] ? &y[1] : NULL };
    const cla_gru_weights w = { c->in[1], c->in[2], c->in[3], c->in[4] };
    return cla_gru(tape, y, c->in[0], &w, c->rows[5], &options);
}

static void oracle(double *const *y, const op_call *c)
{
    const oracle_cell s = { .B = kind_size(c, "B"),
                            .in = kind_size(c, "in"),
                            .n = kind_size(c, "n"),
                            .offsets = c->ids[5],
                            .reverse = c->attribute[0] != 0,
                            .w = c->x[1],
                            .b = c->x[2],
                            .w_c = c->x[3],
                            .b_c = c->x[4] };
    double *last = calloc((size_t)(s.B * s.n) + 1, sizeof *last);
    oracle_gru(y[0], y[1] ? y[1] : last, c->x[0], c->x[6], &s);
    free(last);
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double N = kind_size(c, "N"), in = kind_size(c, "in"), n = kind_size(c, "n");
    return (kind_cost){ (backward ? 6 : 2) * N * 3 * n * (in + n),
                        (backward ? 3 : 1) * 4 * N * (in + n) };
}

static const op_kind gru_kind = {
    .signature = &cla_gru_signature,
    .attribute = { "reverse=0|1" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const gru_kinds[] = { &gru_kind, NULL };
