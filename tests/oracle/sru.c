/* sru.c - the definition of a simple recurrent unit along packed sequences. */
#include <math.h>
#include <stdlib.h>

#include "clattn/recurrent.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_sru_signature; // of the launcher

static double product(const double *x, const double *w, int in, int columns, int j)
{
    double sum = 0;
    for (int k = 0; k < in; k++) {
        sum += x[k] * w[(int64_t)k * columns + j];
    }
    return sum;
}

/* Computes y [n] of one token x [in] and advances c [n]. */
static void step(double *y, double *c, const double *x, const oracle_cell *s)
{
    const int n = s->n;
    for (int j = 0; j < n; j++) {
        const double z = product(x, s->w, s->in, n, j);
        const double f = oracle_sigmoid(product(x, s->w_c, s->in, 2 * n, j) +
                                        (s->b_c ? s->b_c[j] : 0));
        const double r = oracle_sigmoid(product(x, s->w_c, s->in, 2 * n, n + j) +
                                        (s->b_c ? s->b_c[n + j] : 0));
        c[j] = tanh(f * c[j] + (1 - f) * z);
        y[j] = r * c[j] + (1 - r) * z;
    }
}

void oracle_sru(double *y, double *c, const double *x, const double *c0,
                const oracle_cell *s)
{
    for (int b = 0; b < s->B; b++) {
        const int first = s->offsets[b], length = s->offsets[b + 1] - first;
        double *c_b = c + (int64_t)b * s->n;
        for (int j = 0; j < s->n; j++) {
            c_b[j] = c0 ? c0[b * s->n + j] : 0;
        }
        for (int t = 0; t < length; t++) {
            const int64_t row = first + (s->reverse ? length - 1 - t : t);
            step(y + row * s->n, c_b, x + row * s->in, s);
        }
    }
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_recurrent_options options = { .reverse = c->attribute[0] != 0,
                                            .c0 = c->in[5],
                                            .c = c->wanted[7] ? &y[1] : NULL };
    const cla_sru_weights w = { c->in[1], c->in[2], c->in[3] };
    return cla_sru(tape, y, c->in[0], &w, c->rows[4], &options);
}

static void oracle(double *const *y, const op_call *c)
{
    const oracle_cell s = { .B = kind_size(c, "B"),
                            .in = kind_size(c, "in"),
                            .n = kind_size(c, "n"),
                            .offsets = c->ids[4],
                            .reverse = c->attribute[0] != 0,
                            .w = c->x[1],
                            .w_c = c->x[2],
                            .b_c = c->x[3] };
    double *last = calloc((size_t)(s.B * s.n) + 1, sizeof *last);
    oracle_sru(y[0], y[1] ? y[1] : last, c->x[0], c->x[5], &s);
    free(last);
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double N = kind_size(c, "N"), in = kind_size(c, "in"), n = kind_size(c, "n");
    return (kind_cost){ (backward ? 6 : 2) * N * 3 * n * in,
                        (backward ? 3 : 1) * 4 * N * (in + n) };
}

static const op_kind sru_kind = {
    .signature = &cla_sru_signature,
    .attribute = { "reverse=0|1" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const sru_kinds[] = { &sru_kind, NULL };
