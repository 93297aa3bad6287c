/* custom_attention.c - attention with modified scores, straight from its equation. */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

static double product(const double *a, const double *b, int d)
{
    double sum = 0;
    for (int c = 0; c < d; c++) {
        sum += a[c] * b[c];
    }
    return sum / sqrt((double)d);
}

static double score(const oracle_pair *p, double *const *x, const oracle_modifier *m,
                    const oracle_attention_shape *s)
{
    const bool hidden = (s->causal && p->j > p->i + p->S - p->T) ||
                        (s->window && abs(p->i - p->j) > s->window / 2) ||
                        (m->mask && !m->mask(p, x));
    if (hidden) {
        return -INFINITY;
    }
    return m->score ? m->score(p, x) : p->s;
}

/* Computes the scores [S] of one query. */
static void rate(double *weight, oracle_pair p, double *const *x,
                 const oracle_modifier *m, const oracle_attention_shape *s)
{
    const int first = p.nj;
    for (p.j = 0; p.j < p.S; p.j++) {
        p.nj = first + p.j;
        p.s = product(x[0] + ((int64_t)p.ni * s->H + p.h) * s->d,
                      x[1] + ((int64_t)p.nj * s->H + p.h) * s->d, s->d);
        weight[p.j] = score(&p, x, m, s);
    }
}

/* Turns the scores into the weights of the values. */
static void finish(double *weight, oracle_pair p, double *const *x,
                   const oracle_modifier *m)
{
    double largest = -INFINITY, sum = 0;
    const int first = p.nj;
    for (int j = 0; j < p.S; j++) {
        largest = fmax(largest, weight[j]);
    }
    for (int j = 0; j < p.S; j++) {
        sum += weight[j] == -INFINITY ? 0 : exp(weight[j] - largest);
    }
    for (p.j = 0; p.j < p.S; p.j++) {
        p.nj = first + p.j;
        double *w = &weight[p.j];
        const bool seen = *w != -INFINITY;
        *w = seen ? exp(*w - largest) / sum : 0;
        *w = seen && m->weight ? m->weight(*w, &p, x) : *w;
    }
}

static void mix(double *o, const double *weight, const oracle_pair *p, const double *v,
                const oracle_attention_shape *s)
{
    double *y = o + ((int64_t)p->ni * s->H + p->h) * s->d;
    const int64_t at = ((int64_t)p->ni * s->H + p->h) * s->Smax;
    for (int c = 0; c < s->d; c++) {
        y[c] = 0;
    }
    for (int j = 0; j < p->S; j++) {
        const double w = weight[j] * (s->keep ? s->keep[at + j] : 1);
        for (int c = 0; c < s->d && w != 0; c++) {
            y[c] += w * v[((int64_t)(p->nj + j) * s->H + p->h) * s->d + c];
        }
    }
}

static int longest(const int32_t *offsets, int B)
{
    int most = 0;
    for (int b = 0; b < B; b++) {
        const int length = offsets[b + 1] - offsets[b];
        most = length > most ? length : most;
    }
    return most;
}

void oracle_custom_attention(double *o, double *map, double *const *x,
                             const oracle_modifier *m, const oracle_attention_shape *s)
{
    const int Tmax = longest(s->q_offsets, s->B);
    double *weight = calloc((size_t)s->Smax + 1, sizeof *weight);
    for (int n = 0; n < s->B * s->H * Tmax; n++) {
        const int b = n / (s->H * Tmax), i = n % Tmax;
        const oracle_pair p = {
            .i = i,
            .h = n / Tmax % s->H,
            .b = b,
            .T = s->q_offsets[b + 1] - s->q_offsets[b],
            .S = s->k_offsets[b + 1] - s->k_offsets[b],
            .ni = s->q_offsets[b] + i,
            .nj = s->k_offsets[b],
        };
        for (int j = 0; j < s->Smax; j++) {
            weight[j] = 0;
        }
        if (i < p.T) {
            rate(weight, p, x, m, s);
            finish(weight, p, x, m);
            mix(o, weight, &p, x[2], s);
        }
        for (int j = 0; map && j < s->Smax; j++) {
            map[(int64_t)n * s->Smax + j] = weight[j];
        }
    }
    free(weight);
}
