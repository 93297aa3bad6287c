/* dropout.c - the definition of dropout: which elements a seed keeps. */
#include "base/rng.h"
#include "clattn/feed.h"
#include "clattn/ops.h"
#include "oracle/kind.h"

extern const cla_signature cla_dropout_signature; // of the launcher

/* Key of the random numbers. The op is the first on its tape that draws any. */
enum { SEED = 7, STEP = 3 };

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    cla_tape_random(tape, SEED, STEP);
    return cla_dropout(tape, y, c->in[0], (float)c->attribute[0]);
}

/* Returns what is left of x, element i of row n. */
static double left_of(double x, uint32_t n, uint32_t i, float p)
{
    const uint32_t counter[4] = { i / 64 * 16 + i % 16, n, 0x64726f70, 0 };
    const uint32_t key[2] = { SEED, STEP };
    const cla_philox r = cla_philox4x32(counter, key);
    return cla_uniform(r.v[i / 16 % 4]) >= p ? x / (1 - (double)p) : 0;
}

static void oracle(double *const *y, const op_call *c)
{
    const int64_t N = c->sizes.shape[0], C = c->sizes.shape[1];
    const float p = (float)c->attribute[0];
    for (int64_t at = 0; at < N * C; at++) {
        y[0][at] = left_of(c->x[0][at], (uint32_t)(at / C), (uint32_t)(at % C), p);
    }
}

static kind_cost cost(const op_call *c, bool backward)
{
    return (kind_cost){ .bytes = (backward ? 4.0 : 2.0) * 4 * (double)kind_total(c) };
}

static const op_kind dropout_kind = {
    .signature = &cla_dropout_signature,
    .attribute = { "p" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

/* ---- dropout of a sum ------------------------------------------------------------ */

extern const cla_signature cla_dropout_add_signature;

static cla_status device_sum(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    cla_tape_random(tape, SEED, STEP);
    return cla_dropout_add(tape, y, c->in[0], c->in[1], (float)c->attribute[0],
                           c->attribute[1] != 0);
}

static void oracle_sum(double *const *y, const op_call *c)
{
    const int64_t N = c->sizes.shape[0], C = c->sizes.shape[1];
    const float p = (float)c->attribute[0];
    const bool whole = c->attribute[1] != 0;
    for (int64_t at = 0; at < N * C; at++) {
        const double a = c->x[0][at], x = whole ? a + c->x[1][at] : c->x[1][at];
        y[0][at] = left_of(x, (uint32_t)(at / C), (uint32_t)(at % C), p);
        y[0][at] += whole ? 0 : a;
    }
}

static kind_cost cost_sum(const op_call *c, bool backward)
{
    return (kind_cost){ .bytes = (backward ? 6.0 : 3.0) * 4 * (double)kind_total(c) };
}

static const op_kind dropout_add_kind = {
    .signature = &cla_dropout_add_signature,
    .attribute = { "p", "whole=0|1" },
    .device = device_sum,
    .oracle = oracle_sum,
    .cost = cost_sum,
};

const op_kind *const dropout_kinds[] = { &dropout_kind, &dropout_add_kind, NULL };
