/* conv_attention_2d.c - the definition of attention with a convolved map. */
#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"

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
    return m->activation == 1 ? fmax(y, 0) : m->activation == 2 ? tanh(y) : y;
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
