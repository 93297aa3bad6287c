/* relative_attention.c - a layer of the translator with vectors for distances, beside
 * plain attention in the same suite. */
#include <stdio.h>

#include "bench/bench.h"
#include "bench/internal.h"
#include "oracle/oracle.h"

enum { H = 8, WIDTH = 64, CLIP = 16 };

typedef struct layer {
    int B, T;
    cla_ragged *rows;
    const int32_t *offsets;
} layer;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const layer *c = context;
    return cla_relative_attention(tape, y, x[0], x[1], x[2], x[3], x[4], c->rows,
                                  c->rows, NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const layer *c = context;
    const oracle_attention_shape s = {
        .B = c->B,
        .H = H,
        .d = WIDTH,
        .q_offsets = c->offsets,
        .k_offsets = c->offsets,
        .Smax = c->T,
    };
    oracle_relative_attention(y, NULL, x, CLIP, &s);
}

static cla_status run_shape(bench *b, layer *c, bool backward)
{
    const double N = (double)c->B * c->T, rows = N * H, near = 2.0 * CLIP + 1;
    const bench_input tokens = { 3, { c->B * (int64_t)c->T, H, WIDTH }, .scale = 1 };
    const bench_input table = { 2, { 2 * CLIP + 1, WIDTH }, .scale = 1 };
    bench_op op = {
        .suite = "attention",
        .in = { tokens, tokens, tokens, table, table },
        .inputs = 5,
        .backward = backward,
        .flops = rows * WIDTH * 2.0 *
                 (c->T * (backward ? 7.0 : 2.0) + near * (backward ? 6.0 : 2.0)),
        .bytes = (backward ? 12.0 : 4.0) * 4 * rows * WIDTH,
        .forward = forward,
        .oracle = oracle,
        .context = c,
    };
    snprintf(op.name, sizeof op.name, "relative_attention %s B%d H%d T%d d%d R%d",
             backward ? "fwd+bwd" : "fwd", c->B, H, c->T, WIDTH, CLIP);
    return bench_op_run(b, &op);
}

cla_status bench_relative_attention(bench *b)
{
    enum { B = 16, T = 32 };
    int32_t offsets[B + 1];
    for (int i = 0; i <= B; i++) {
        offsets[i] = i * T;
    }
    layer c = { .B = B, .T = T, .offsets = offsets };
    CLA_TRY(cla_ragged_new(&c.rows, bench_runtime(b), B, offsets));
    cla_status status = run_shape(b, &c, false);
    status = status ? status : run_shape(b, &c, true);
    cla_ragged_free(&c.rows);
    return status;
}
