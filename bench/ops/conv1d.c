/* conv1d.c - a layer of the character encoder: distinct words of a batch. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "oracle/oracle.h"

typedef struct words {
    int words, length, taps, channels;
    cla_ragged *rows;
    int32_t *offsets;
} words;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const words *c = context;
    return cla_conv1d(tape, y, x[0], x[1], x[2], c->rows, CLA_RELU);
}

static void oracle(double *y, double *const *x, void *context)
{
    const words *c = context;
    oracle_conv1d(y, x[0], x[1], x[2], c->words, c->offsets, c->taps, c->channels,
                  c->channels, 1);
}

static cla_status make_rows(bench *b, words *c)
{
    CLA_TRY(cla_alloc(&c->offsets, (size_t)c->words + 1, sizeof *c->offsets));
    for (int i = 0; i <= c->words; i++) {
        c->offsets[i] = i * c->length;
    }
    return bench_rows(b, &c->rows, c->words, c->length);
}

static cla_status run_shape(bench *b, words c, bool backward)
{
    const int64_t N = (int64_t)c.words * c.length, C = c.channels;
    const double size = (double)N * (double)C;
    bench_op op = {
        .suite = "characters",
        .in = { { 2, { N, C } },
                { 3, { c.taps, C, C }, .scale = 0.05f },
                { 1, { C } } },
        .inputs = 3,
        .backward = backward,
        .flops = (backward ? 6.0 : 2.0) * size * c.taps * (double)C,
        .bytes = (backward ? 7.0 : 2.0) * 4 * size,
        .forward = forward,
        .oracle = oracle,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "conv1d %s B%d T%d C%d k%d",
             backward ? "fwd+bwd" : "fwd", c.words, c.length, c.channels, c.taps);
    cla_status status = make_rows(b, &c);
    status = status ? status : bench_op_run(b, &op);
    cla_ragged_free(&c.rows);
    free(c.offsets);
    return status;
}

cla_status bench_conv1d(bench *b)
{
    const words encoder = { .words = 400, .length = 20, .taps = 5, .channels = 64 };
    CLA_TRY(run_shape(b, encoder, false));
    return run_shape(b, encoder, true);
}
