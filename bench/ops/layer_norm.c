/* layer_norm.c - rows of a Transformer. */
#include "bench/kind.h"

cla_status bench_layer_norm(bench *b)
{
    static const bench_shape shapes[] = {
        { "N2048 D512", "N=2048 D=512" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "layers",
        .lines = { &layer_norm_kind, "eps=1e-6", NULL },
        .shapes = shapes,
    };
    return bench_table_run(b, &table);
}
