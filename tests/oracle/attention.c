/* attention.c - full, banded and 2-D banded attention, straight from the equations. */
#include <math.h>
#include <stdlib.h>

#include "oracle/kind_attention.h"

extern const cla_signature cla_attention_signature; // of the launcher

/* A query of one head: the keys that it sees, and their weights. */
typedef struct query {
    int row, first_key, i, T, S, h;
    double *weight; // [area*Smax], 0 for keys that it does not see
} query;

static double center_of(const oracle_attention_shape *s, const query *q)
{
    return s->center ? s->center[(int64_t)q->row * s->H + q->h] : q->i;
}

static double sigma_of(const oracle_attention_shape *s, const query *q)
{
    return s->sigma[s->one_sigma ? q->h : (int64_t)q->row * s->H + q->h];
}

static bool visible(const oracle_attention_shape *s, const query *q, int j)
{
    if (s->sigma && fabs((j - center_of(s, q)) / sigma_of(s, q)) > s->reach) {
        return false;
    }
    if (s->causal && j > q->i + q->S - q->T) {
        return false;
    }
    return s->window == 0 || abs(q->i - j) <= s->window / 2;
}

/* Returns the head whose keys (or values) member g of the area around h uses; -1:
 * none. */
static int area_head(const oracle_attention_shape *s, int h, int g, bool values)
{
    const int area = s->area ? s->area : 1;
    const int other = h + g - area / 2;
    const bool outside = other < 0 || other >= s->H;

    if (!outside) {
        return other;
    }
    if (s->edge == 0) {
        return -1;
    }
    if (s->edge == 2 && values) {
        return other < 0 ? 0 : s->H - 1;
    }
    return (other % s->H + s->H) % s->H;
}

/* Returns the Gaussian's term of a score. */
static double bell(const oracle_attention_shape *s, const query *q, int j)
{
    if (!s->sigma) {
        return 0;
    }
    const double apart = j - center_of(s, q), sigma = sigma_of(s, q);
    return -apart * apart / (2 * sigma * sigma);
}

static double score(const oracle_attention_shape *s, const query *q, int head, int j,
                    const double *queries, const double *keys)
{
    const double *a = queries + ((int64_t)q->row * s->H + q->h) * s->d;
    const double *b = keys + ((int64_t)(q->first_key + j) * s->H + head) * s->d;
    double sum = 0;

    for (int c = 0; c < s->d; c++) {
        sum += a[c] * b[c];
    }
    sum /= sqrt((double)s->d);
    sum += s->absolute ? s->absolute[(q->h * s->t + q->i) * s->t + j] : 0;
    sum += bell(s, q, j);
    return sum + (s->relative ? s->relative[q->h * 2 * s->t + q->i - j + s->t] : 0);
}

/* Fills q->weight with the softmax over all keys that the query sees. */
static void weigh(const oracle_attention_shape *s, const query *q, int Smax,
                  const double *queries, const double *keys)
{
    const int area = s->area ? s->area : 1;
    double largest = -INFINITY, sum = 0;

    for (int g = 0; g < area; g++) {
        const int head = area_head(s, q->h, g, false);
        for (int j = 0; j < Smax; j++) {
            const bool seen = head >= 0 && j < q->S && visible(s, q, j);
            double *w = &q->weight[g * Smax + j];
            *w = seen ? score(s, q, head, j, queries, keys) : -INFINITY;
            largest = fmax(largest, *w);
        }
    }
    for (int n = 0; n < area * Smax; n++) {
        double *w = &q->weight[n];
        *w = *w == -INFINITY ? 0 : exp(*w - largest);
        sum += *w;
    }
    for (int n = 0; n < area * Smax && sum > 0; n++) {
        q->weight[n] /= sum;
    }
}

static void mix(double *o, const oracle_attention_shape *s, const query *q, int Smax,
                const double *values)
{
    const int area = s->area ? s->area : 1;
    const int64_t at = ((int64_t)q->row * s->H + q->h) * area * Smax;
    double *y = o + ((int64_t)q->row * s->H + q->h) * s->d;

    for (int c = 0; c < s->d; c++) {
        y[c] = 0;
    }
    for (int n = 0; n < area * Smax; n++) {
        const int head = area_head(s, q->h, n / Smax, true);
        const double keep = s->keep ? s->keep[at + n] : 1;
        const double w = q->weight[n] * keep;
        if (w == 0) {
            continue;
        }
        const int64_t row = q->first_key + n % Smax;
        for (int c = 0; c < s->d; c++) {
            y[c] += w * values[(row * s->H + head) * s->d + c];
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

void oracle_attention(double *o, double *map, const double *q, const double *k,
                      const double *v, const oracle_attention_shape *s)
{
    const int area = s->area ? s->area : 1;
    const int Tmax = longest(s->q_offsets, s->B);
    const int Smax = s->Smax ? s->Smax : longest(s->k_offsets, s->B);
    const int width = area * Smax;
    double *weight = calloc((size_t)width + 1, sizeof *weight);

    for (int n = 0; n < s->B * s->H * Tmax; n++) {
        const int b = n / (s->H * Tmax), i = n % Tmax;
        const query one = {
            .row = s->q_offsets[b] + i,
            .first_key = s->k_offsets[b],
            .i = i,
            .T = s->q_offsets[b + 1] - s->q_offsets[b],
            .S = s->k_offsets[b + 1] - s->k_offsets[b],
            .h = n / Tmax % s->H,
            .weight = weight,
        };
        for (int w = 0; w < width; w++) {
            weight[w] = 0;
        }
        if (i < one.T) {
            weigh(s, &one, Smax, q, k);
            mix(o, s, &one, Smax, v);
        }
        for (int w = 0; map && w < width; w++) {
            map[(int64_t)n * width + w] = weight[w];
        }
    }
    free(weight);
}

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_attention_options options = kind_options(c, c->wanted[6] ? &y[1] : NULL);
    return cla_attention(tape, y, c->in[0], c->in[1], c->in[2], c->rows[3], c->rows[4],
                         &options);
}

static void oracle(double *const *y, const op_call *c)
{
    const oracle_attention_shape s = kind_attention(c, 3, 4);
    oracle_attention(y[0], y[1], c->x[0], c->x[1], c->x[2], &s);
    free((double *)s.keep);
}

static kind_cost cost(const op_call *c, bool backward)
{
    return kind_attention_cost(c, 3, 4, backward);
}

static const op_kind attention_kind = {
    .signature = &cla_attention_signature,
    .attribute = { "causal=0|1", "dropout?" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const attention_kinds[] = { &attention_kind, NULL };
