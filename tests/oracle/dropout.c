/* dropout.c - the definition of dropout: which elements a seed keeps. */
#include "base/rng.h"
#include "clattn/ops.h"
#include "oracle/kind.h"

extern const cla_signature cla_dropout_signature; // of the launcher

/* The draws of the first op under this key. */
enum { SEED = 7, STEP = 3 };

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    cla_tape_random(tape, SEED, STEP);
    return cla_dropout(tape, y, c->in[0], (float)c->attribute[0]);
}

static void oracle(double *const *y, const op_call *c)
{
    const int64_t N = c->sizes.shape[0], C = c->sizes.shape[1];
    const float p = (float)c->attribute[0];
    for (int64_t at = 0; at < N * C; at++) {
        const uint32_t n = (uint32_t)(at / C), i = (uint32_t)(at % C);
        const uint32_t counter[4] = { i / 64 * 16 + i % 16, n, 0x64726f70, 0 };
        const uint32_t key[2] = { SEED, STEP };
        const cla_philox r = cla_philox4x32(counter, key);
        const bool kept = cla_uniform(r.v[i / 16 % 4]) >= p;
        y[0][at] = kept ? c->x[0][at] / (1 - (double)p) : 0;
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

const op_kind *const dropout_kinds[] = { &dropout_kind, NULL };
