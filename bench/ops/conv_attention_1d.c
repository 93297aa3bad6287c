/* conv_attention_1d.c - a layer of the tagger with filters over its maps. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "oracle/oracle.h"

typedef struct layer {
    int B, H, t, d;
    cla_ragged *rows;
    int32_t *offsets;
} layer;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const layer *c = context;
    return cla_conv_attention_1d(tape, y, x[0], x[1], x[2], x[3], x[4], c->rows,
                                 CLA_RELU, NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const layer *c = context;
    oracle_conv_attention_1d(y, x[0], x[1], x[2], x[3], x[4], c->B, c->H, c->d,
                             c->offsets, c->t, 1);
}

static cla_status make_rows(bench *b, layer *c)
{
    CLA_TRY(cla_alloc(&c->offsets, (size_t)c->B + 1, sizeof *c->offsets));
    for (int i = 0; i <= c->B; i++) {
        c->offsets[i] = i * c->t;
    }
    return bench_rows(b, &c->rows, c->B, c->t);
}

static cla_status run_shape(bench *b, layer c, bool backward)
{
    const int64_t N = (int64_t)c.B * c.t;
    const bench_input tokens = { 3, { N, c.H, c.d }, .scale = 1 };
    const double maps = (double)c.H * (double)N * c.t; // elements
    bench_op op = {
        .suite = "conv",
        .in = { tokens,
                tokens,
                tokens,
                { 4, { c.H, 3, c.t, c.t }, .scale = 0.1f },
                { 2, { c.H, c.t }, .scale = 0.1f } },
        .inputs = 5,
        .backward = backward,
        .flops = 2 * maps * (backward ? 6.0 * c.d + 9.0 * c.t : 2.0 * c.d + 3.0 * c.t),
        .bytes = (backward ? 11.0 : 4.0) * 4 * (double)N * c.H * c.d,
        .forward = forward,
        .oracle = oracle,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "conv_attention_1d %s B%d H%d T%d d%d",
             backward ? "fwd+bwd" : "fwd", c.B, c.H, c.t, c.d);
    cla_status status = make_rows(b, &c);
    status = status ? status : bench_op_run(b, &op);
    cla_ragged_free(&c.rows);
    free(c.offsets);
    return status;
}

cla_status bench_conv_attention_1d(bench *b)
{
    const layer tagger = { .B = 32, .H = 4, .t = 60, .d = 48 };
    CLA_TRY(run_shape(b, tagger, false));
    return run_shape(b, tagger, true);
}
