/* top_k.c - times finding the next pieces that a beam search considers. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    cla_tensor *id = NULL;
    return cla_top_k(tape, y, &id, x[0], *(const int *)context);
}

cla_status bench_top_k(bench *b)
{
    enum { N = 128, V = 8000 };
    int k = 8;
    bench_op op = {
        .suite = "layers",
        .in = { { 2, { N, V }, .constant = true } },
        .inputs = 1,
        .flops = 6.0 * N * V,
        .bytes = 4.0 * N * V,
        .forward = forward,
        .context = &k,
    };
    snprintf(op.name, sizeof op.name, "top_k fwd N%d V%d K%d", N, V, k);
    return bench_op_run(b, &op);
}
