/* gaussian_attention.c - times a layer of a base Transformer with Gaussians in its
 * scores: predicted centres and widths, and a width for each head. */
#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "bench/internal.h"
#include "oracle/oracle.h"

enum { B = 32, H = 8, LENGTH = 64, WIDTH = 64 };

typedef struct layer {
    bool predicted; // center and sigma [N,H]; else sigma [H] around the query
    int32_t offsets[B + 1];
    cla_ragged *rows;
} layer;

/* Map raw numbers to widths around 16; centres lie anywhere in the sentence. */
static const float SLOPE = 0.5f, BASE = 0.05f;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const layer *c = context;
    cla_gaussian shape = { .sigma = x[3], .reach = INFINITY };
    if (c->predicted) {
        CLA_TRY(cla_length_sigmoid(tape, &shape.center, x[3], c->rows, 1, -1, 0));
        CLA_TRY(cla_length_sigmoid(tape, &shape.sigma, x[4], c->rows, SLOPE, 0, BASE));
    }
    return cla_gaussian_attention(tape, y, x[0], x[1], x[2], &shape, c->rows, NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const layer *c = context;
    static double center[B * LENGTH * H], sigma[B * LENGTH * H];
    oracle_length_sigmoid(center, x[3], c->predicted ? B : 0, H, c->offsets, 1, -1, 0);
    oracle_length_sigmoid(sigma, x[4], c->predicted ? B : 0, H, c->offsets,
                          (double)SLOPE, 0, (double)BASE);
    const oracle_attention_shape s = {
        .B = B,
        .H = H,
        .d = WIDTH,
        .q_offsets = c->offsets,
        .k_offsets = c->offsets,
        .center = c->predicted ? center : NULL,
        .sigma = c->predicted ? sigma : x[3],
        .one_sigma = !c->predicted,
        .reach = INFINITY,
    };
    oracle_gaussian_attention(y, NULL, x[0], x[1], x[2], &s);
}

static cla_status run_shape(bench *b, layer *c, bool backward)
{
    const int64_t N = cla_ragged_tokens(c->rows);
    const bench_input tokens = { 3, { N, H, WIDTH }, .scale = 1 };
    const double pairs = (double)B * LENGTH * LENGTH;
    bench_op op = {
        .suite = "attention",
        .in = { tokens, tokens, tokens },
        .inputs = 3,
        .backward = backward,
        .flops = pairs * H * (WIDTH * 2.0 * (backward ? 7 : 2) + (backward ? 12 : 4)),
        .bytes = (backward ? 12.0 : 4.0) * 4 * (double)N * H * WIDTH,
        .forward = forward,
        .oracle = oracle,
        .context = c,
    };
    if (c->predicted) {
        op.in[op.inputs++] = (bench_input){ 2, { N, H }, .scale = 1 };
        op.in[op.inputs++] = (bench_input){ 2, { N, H }, .scale = 1 };
    } else {
        op.in[op.inputs++] = (bench_input){ 1, { H }, .scale = 4 };
    }
    snprintf(op.name, sizeof op.name, "gaussian_attention %s %s B%d H%d T%d d%d",
             backward ? "fwd+bwd" : "fwd", c->predicted ? "predicted" : "by head", B, H,
             LENGTH, WIDTH);
    return bench_op_run(b, &op);
}

cla_status bench_gaussian_attention(bench *b)
{
    layer c = { .predicted = false };
    for (int i = 0; i < B; i++) {
        c.offsets[i + 1] = c.offsets[i] + LENGTH;
    }
    CLA_TRY(cla_ragged_new(&c.rows, bench_runtime(b), B, c.offsets));
    cla_status status = CLA_OK;
    for (int n = 0; n < 4 && !status; n++) {
        c.predicted = n < 2;
        status = run_shape(b, &c, n % 2);
    }
    cla_ragged_free(&c.rows);
    return status;
}
