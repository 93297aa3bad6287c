/* conv1d.c - a layer of the character encoder: distinct words of a batch. */
#include "bench/kind.h"

cla_status bench_conv1d(bench *b)
{
    static const bench_shape shapes[] = {
        { "B400 T20 C64 k5", "rows=400x20 in=64 out=64 K=5" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "characters",
        .lines = { &conv1d_kind, "activation=1", NULL },
        .shapes = shapes,
        .scale = { [1] = 0.05f },
    };
    return bench_table_run(b, &table);
}
