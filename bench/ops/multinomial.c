/* multinomial.c - times drawing the next piece of each sentence. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_multinomial(tape, y, x[0]);
}

cla_status bench_multinomial(bench *b)
{
    enum { N = 128, V = 8000 };
    bench_op op = {
        .suite = "layers",
        .in = { { 2, { N, V }, .constant = true } },
        .inputs = 1,
        .flops = 8.0 * N * V,
        .bytes = 4.0 * N * V,
        .forward = forward,
    };
    snprintf(op.name, sizeof op.name, "multinomial fwd N%d V%d", N, V);
    return bench_op_run(b, &op);
}
