/* linear.c - the linear layer with its tail, its weights packed once. */
#include "bench/kind.h"

cla_status bench_linear(bench *b)
{
    static const bench_shape shapes[] = {
        { "N1 in512 out512", "N=1 in=512 out=512 -residual" },
        { "N1536 in256 out1024 relu", "N=1536 in=256 out=1024 activation=1 -residual" },
        { "N64 in256 out8000", "N=64 in=256 out=8000 -residual" },
        { "N2048 in512 out512 residual", "N=2048 in=512 out=512" },
        { "N2048 in512 out2048 relu", "N=2048 in=512 out=2048 activation=1 -residual" },
        { "N2048 in2048 out512 residual", "N=2048 in=2048 out=512" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "gemm",
        .lines = { .kind = &linear_kind },
        .shapes = shapes,
        .quick = 2,
        .scale = { [1] = 0.05F },
    };
    return bench_table_run(b, &table);
}
