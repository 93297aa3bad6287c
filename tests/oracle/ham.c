/* ham.c - the definition of hierarchical attention. */
#include "clattn/ham.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_ham_v_signature, cla_ham_s_signature; // of the launcher

/* Computes to = softmax(scale from k^T) k for one query and S keys. */
static void attend(double *to, const double *from, const double *k, int S, int d,
                   double scale)
{
    double top = -INFINITY, sum = 0;
    double *score = calloc((size_t)S + 1, sizeof *score);
    for (int j = 0; j < S; j++) {
        for (int c = 0; c < d; c++) {
            score[j] += scale * from[c] * k[(int64_t)j * d + c];
        }
        top = fmax(top, score[j]);
    }
    for (int c = 0; c < d; c++) {
        to[c] = 0;
    }
    for (int j = 0; j < S; j++) {
        sum += exp(score[j] - top);
    }
    for (int j = 0; j < S; j++) {
        for (int c = 0; c < d; c++) {
            to[c] += exp(score[j] - top) / sum * k[(int64_t)j * d + c];
        }
    }
    free(score);
}

double oracle_level_weight(const double *c, int depth, int l)
{
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < depth; i++) {
        top = fmax(top, c[i]);
    }
    for (int i = 0; i < depth; i++) {
        sum += exp(c[i] - top);
    }
    return exp(c[l] - top) / sum;
}

void oracle_ham(double *out, const double *q, const double *k, const double *c,
                const oracle_ham_shape *s)
{
    const int64_t rows = (int64_t)s->q_offsets[s->B] * s->d;
    double *before = calloc((size_t)rows + 1, sizeof *before);
    double *level = calloc((size_t)rows + 1, sizeof *level);
    memcpy(before, q, (size_t)rows * sizeof *q);
    memset(out, 0, (size_t)rows * sizeof *out);
    for (int l = 0; l < s->depth; l++) {
        const double *keys = s->self ? before : k;
        for (int b = 0; b < s->B; b++) {
            for (int i = s->q_offsets[b]; i < s->q_offsets[b + 1]; i++) {
                attend(level + (int64_t)i * s->d, before + (int64_t)i * s->d,
                       keys + (int64_t)s->k_offsets[b] * s->d,
                       s->k_offsets[b + 1] - s->k_offsets[b], s->d, s->scale);
            }
        }
        for (int64_t n = 0; n < rows; n++) {
            out[n] += oracle_level_weight(c, s->depth, l) * level[n];
        }
        memcpy(before, level, (size_t)rows * sizeof *level);
    }
    free(before);
    free(level);
}

static cla_status device_v(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_ham_options options = { .scale = (float)c->attribute[0] };
    return cla_ham_v(tape, y, c->in[0], c->in[1], c->in[2], c->rows[3], c->rows[4],
                     &options);
}

static cla_status device_s(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    const cla_ham_options options = { .scale = (float)c->attribute[0],
                                      .memory = (cla_ham_memory)c->attribute[1] };
    return cla_ham_s(tape, y, c->in[0], c->in[1], c->rows[2], &options);
}

static oracle_ham_shape shape_of(const op_call *c, int q_rows, int k_rows)
{
    const double scale = (double)(float)c->attribute[0];
    return (oracle_ham_shape){ .B = kind_size(c, "B"),
                               .d = kind_size(c, "d"),
                               .depth = kind_size(c, "depth"),
                               .q_offsets = c->ids[q_rows],
                               .k_offsets = c->ids[k_rows],
                               .scale =
                                   scale != 0 ? scale : 1 / sqrt(kind_size(c, "d")) };
}

static void oracle_v(double *const *y, const op_call *c)
{
    const oracle_ham_shape s = shape_of(c, 3, 4);
    oracle_ham(y[0], c->x[0], c->x[1], c->x[2], &s);
}

static void oracle_s(double *const *y, const op_call *c)
{
    oracle_ham_shape s = shape_of(c, 2, 2);
    s.self = c->attribute[1] == CLA_HAM_CURRENT;
    oracle_ham(y[0], c->x[0], c->x[0], c->x[1], &s);
}

static const op_kind ham_v_kind = {
    .signature = &cla_ham_v_signature,
    .attribute = { "scale?" },
    .device = device_v,
    .oracle = oracle_v,
};

static const op_kind ham_s_kind = {
    .signature = &cla_ham_s_signature,
    .attribute = { "scale?", "original?" },
    .device = device_s,
    .oracle = oracle_s,
};

const op_kind *const ham_kinds[] = { &ham_v_kind, &ham_s_kind, NULL };
