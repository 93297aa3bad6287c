/* conv_attention_2d.c - the definition of attention with a convolved map. */
#include <math.h>
#include <stdlib.h>

#include "clattn/ops.h"
#include "ops/activation.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_conv_attention_2d_signature; // of the launcher

/* One sequence and head. */
typedef struct one_map {
    const double *q, *k, *v, *w; // rows `stride` apart
    double *o, b;
    int T, d, stride, kh, kw, activation;
} one_map;

static void softmax_rows(double *p, const one_map *m)
{
    for (int i = 0; i < m->T; i++) {
        double *row = p + (int64_t)i * m->T, top = -INFINITY, total = 0;
        for (int j = 0; j < m->T; j++) {
            row[j] = 0;
            for (int c = 0; c < m->d; c++) {
                row[j] += m->q[(int64_t)i * m->stride + c] *
                          m->k[(int64_t)j * m->stride + c] / sqrt(m->d);
            }
            top = fmax(top, row[j]);
        }
        for (int j = 0; j < m->T; j++) {
            row[j] = exp(row[j] - top);
            total += row[j];
        }
        for (int j = 0; j < m->T; j++) {
            row[j] /= total;
        }
    }
}

static double convolved(const double *p, int i, int j, const one_map *m)
{
    double y = m->b;
    for (int u = 0; u < m->kh; u++) {
        for (int v = 0; v < m->kw; v++) {
            const int r = i + u - (m->kh - 1) / 2, c = j + v - (m->kw - 1) / 2;
            if (r >= 0 && r < m->T && c >= 0 && c < m->T) {
                y += m->w[u * m->kw + v] * p[(int64_t)r * m->T + c];
            }
        }
    }
    return cla_activation_of((cla_activation)m->activation, y);
}

static void attend(const one_map *m)
{
    double *p = malloc(sizeof *p * (size_t)m->T * (size_t)m->T + 1);
    softmax_rows(p, m);
    for (int i = 0; i < m->T; i++) {
        for (int c = 0; c < m->d; c++) {
            m->o[(int64_t)i * m->stride + c] = 0;
        }
        for (int j = 0; j < m->T; j++) {
            const double s = convolved(p, i, j, m);
            for (int c = 0; c < m->d; c++) {
                m->o[(int64_t)i * m->stride + c] +=
                    s * m->v[(int64_t)j * m->stride + c];
            }
        }
    }
    free(p);
}

void oracle_conv_attention_2d(double *o, const double *q, const double *k,
                              const double *v, const double *w, const double *b, int B,
                              int H, int d, const int32_t *offsets, int kh, int kw,
                              int activation)
{
    for (int n = 0; n < B; n++) {
        for (int h = 0; h < H; h++) {
            const int64_t at = ((int64_t)offsets[n] * H + h) * d;
            const one_map m = { q + at,
                                k + at,
                                v + at,
                                w + (int64_t)h * kh * kw,
                                o + at,
                                b[h],
                                offsets[n + 1] - offsets[n],
                                d,
                                H * d,
                                kh,
                                kw,
                                activation };
            attend(&m);
        }
    }
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_conv_attention_2d(tape, y, c->in[0], c->in[1], c->in[2], c->in[3],
                                 c->in[4], c->rows[5], (cla_activation)c->attribute[0],
                                 (cla_conv_method)c->attribute[1], NULL);
}

static void oracle(double *const *y, const op_call *c)
{
    oracle_conv_attention_2d(y[0], c->x[0], c->x[1], c->x[2], c->x[3], c->x[4],
                             kind_size(c, "B"), kind_size(c, "H"), kind_size(c, "d"),
                             c->ids[5], kind_size(c, "kh"), kind_size(c, "kw"),
                             (int)c->attribute[0]);
}

/* Counts two products and a filter; backward these again, then three more products and
 * two more filters. */
static kind_cost cost(const op_call *c, bool backward)
{
    const double row = (double)kind_size(c, "H") * kind_size(c, "N");
    const double d = kind_size(c, "d"),
                 taps = (double)kind_size(c, "kh") * kind_size(c, "kw");
    return (kind_cost){ row * kind_size(c, "T") *
                            (backward ? 14 * d + 8 * taps : 4 * d + 2 * taps),
                        (backward ? 44 : 16) * row * d };
}

static const op_kind conv_attention_2d_kind = {
    .signature = &cla_conv_attention_2d_signature,
    .attribute = { ORACLE_FUSED, "method?=auto|direct|fft" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const conv_attention_2d_kinds[] = { &conv_attention_2d_kind, NULL };
