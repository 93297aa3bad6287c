/* conv_attention_2d.c - times attention with a convolved map, direct and by FFT. */
#include <stdio.h>

#include "base/base.h"
#include "bench.h"
#include "ops/conv_fft.h"
#include "oracle/oracle.h"

typedef struct conv_shape {
    int B, H, T, d, side;
    cla_conv_method method;
    cla_ragged *rows;
    int32_t offsets[65];
} conv_shape;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const conv_shape *c = context;
    return cla_conv_attention_2d(tape, y, x[0], x[1], x[2], x[3], x[4], c->rows,
                                 CLA_RELU, c->method, NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const conv_shape *c = context;
    oracle_conv_attention_2d(y, x[0], x[1], x[2], x[3], x[4], c->B, c->H, c->d,
                             c->offsets, c->side, c->side, CLA_RELU);
}

/* Returns the provider; NULL times both schedules. A large filter is timed under the
 * device's own schedule alone: on a CPU device the other one takes minutes. */
static const char *provider_of(bench *b, const conv_shape *c)
{
    if (c->method == CLA_CONV_FFT) {
        return "fft";
    }
    const bool tile = cla_runtime_schedule(bench_runtime(b)) == CLA_SCHEDULE_TILE;
    return c->side <= 7 ? NULL : tile ? "tile" : "group";
}

static cla_status run_shape(bench *b, conv_shape *c, bool backward)
{
    const int N = c->B * c->T;
    const double size = (double)N * c->H * c->d, maps = size * c->T / c->d;
    const double taps = (double)c->side * c->side;
    bench_op op = {
        .suite = "conv",
        .in = { { .rank = 3, .shape = { N, c->H, c->d } },
                { .rank = 3, .shape = { N, c->H, c->d } },
                { .rank = 3, .shape = { N, c->H, c->d } },
                { .rank = 3, .shape = { c->H, c->side, c->side } },
                { .rank = 1, .shape = { c->H }, .scale = 0.01F } },
        .inputs = 5,
        .backward = backward,
        // forward: two products and a filter; backward: all of it again, three more
        // products and two more filters
        .flops = maps * (backward ? 14 * c->d + 8 * taps : 4 * c->d + 2 * taps),
        .bytes = 4 * size * (backward ? 11 : 4),
        .provider = provider_of(b, c),
        .forward = forward,
        .oracle = oracle,
        .context = c,
    };
    snprintf(op.name, sizeof op.name, "conv_attention_2d %s B%d H%d T%d d%d k%d",
             backward ? "fwd+bwd" : "fwd", c->B, c->H, c->T, c->d, c->side);
    for (int i = 0; i <= c->B; i++) {
        c->offsets[i] = i * c->T;
    }
    CLA_TRY(bench_rows(b, &c->rows, c->B, c->T));
    const cla_status status = bench_op_run(b, &op);
    cla_ragged_free(&c->rows);
    return status;
}

cla_status bench_conv_attention_2d(bench *b)
{
    static const int sides[] = { 3, 7, 15, 31 };
    const int count = bench_quick(b) ? 1 : (int)(sizeof sides / sizeof *sides);
    for (int i = 0; i < count; i++) {
        for (int backward = 0; backward < 2; backward++) {
            conv_shape c = { 8, 8, 256, 64, sides[i], CLA_CONV_DIRECT, NULL, { 0 } };
            CLA_TRY(run_shape(b, &c, backward));
            c.method = CLA_CONV_FFT;
            if (cla_fft_built() && sides[i] > 7) CLA_TRY(run_shape(b, &c, backward));
        }
    }
    return CLA_OK;
}
