/* mix_levels.c - a step's contexts of a reader, five levels of them. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"

enum { DEPTH = 5, ROWS = 2048, WIDTH = 150 };

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_mix_levels(tape, y, x, x[DEPTH]);
}

cla_status bench_mix_levels(bench *b)
{
    bench_op op = {
        .suite = "ham",
        .inputs = DEPTH + 1,
        .backward = true,
        .flops = 6.0 * DEPTH * ROWS * WIDTH,
        .bytes = 4.0 * (4 * DEPTH + 2) * ROWS * WIDTH,
        .forward = forward,
    };
    for (int l = 0; l < DEPTH; l++) {
        op.in[l] = (bench_input){ .rank = 2, .shape = { ROWS, WIDTH } };
    }
    op.in[DEPTH] = (bench_input){ .rank = 1, .shape = { DEPTH } };
    snprintf(op.name, sizeof op.name, "mix_levels fwd+bwd N%d d%d depth%d", ROWS, WIDTH,
             DEPTH);
    return bench_op_run(b, &op);
}
