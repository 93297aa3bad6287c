/* lstm.c - the definition of a long short-term memory along packed sequences. */
#include <math.h>
#include <stdlib.h>

#include "clattn/recurrent.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_lstm_signature; // of the launcher

/* Advances h and c [n] by one token x [in]; a has room for [4n]. */
static void step(double *h, double *c, double *a, const double *x, const oracle_cell *s)
{
    const int n = s->n, in = s->in;
    for (int j = 0; j < 4 * n; j++) {
        a[j] = s->b ? s->b[j] : 0;
        for (int k = 0; k < in; k++) {
            a[j] += x[k] * s->w[(int64_t)k * 4 * n + j];
        }
        for (int k = 0; k < n; k++) {
            a[j] += h[k] * s->w[(int64_t)(in + k) * 4 * n + j];
        }
    }
    for (int j = 0; j < n; j++) {
        c[j] = oracle_sigmoid(a[2 * n + j] + 1) * c[j] +
               oracle_sigmoid(a[j]) * tanh(a[n + j]);
        h[j] = oracle_sigmoid(a[3 * n + j]) * tanh(c[j]);
    }
}

void oracle_lstm(double *y, double *h, double *c, const double *x, const double *h0,
                 const double *c0, const oracle_cell *s)
{
    double *a = calloc(4 * (size_t)s->n + 1, sizeof *a);
    for (int b = 0; b < s->B; b++) {
        const int first = s->offsets[b], length = s->offsets[b + 1] - first;
        double *h_b = h + (int64_t)b * s->n, *c_b = c + (int64_t)b * s->n;
        for (int j = 0; j < s->n; j++) {
            h_b[j] = h0 ? h0[b * s->n + j] : 0;
            c_b[j] = c0 ? c0[b * s->n + j] : 0;
        }
        for (int t = 0; t < length; t++) {
            const int64_t row = first + (s->reverse ? length - 1 - t : t);
            step(h_b, c_b, a, x + row * s->in, s);
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
                                            .h0 = c->in[4],
                                            .c0 = c->in[5],
                                            .h = c->wanted[7] ? &y[1] : NULL,
                                            .c = c->wanted[8] ? &y[2] : NULL };
    return cla_lstm(tape, y, c->in[0], c->in[1], c->in[2], c->rows[3], &options);
}

static void oracle(double *const *y, const op_call *c)
{
    const oracle_cell s = { .B = kind_size(c, "B"),
                            .in = kind_size(c, "in"),
                            .n = kind_size(c, "n"),
                            .offsets = c->ids[3],
                            .reverse = c->attribute[0] != 0,
                            .w = c->x[1],
                            .b = c->x[2] };
    double *last = calloc(2 * (size_t)(s.B * s.n) + 1, sizeof *last);
    oracle_lstm(y[0], y[1] ? y[1] : last, y[2] ? y[2] : last + (ptrdiff_t)s.B * s.n,
                c->x[0], c->x[4], c->x[5], &s);
    free(last);
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double N = kind_size(c, "N"), in = kind_size(c, "in"), n = kind_size(c, "n");
    return (kind_cost){ (backward ? 6 : 2) * N * 4 * n * (in + n),
                        (backward ? 3 : 1) * 4 * N * (in + n) };
}

static const op_kind lstm_kind = {
    .signature = &cla_lstm_signature,
    .attribute = { "reverse=0|1" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const lstm_kinds[] = { &lstm_kind, NULL };
