/* depthwise_conv1d.c - a convolution before the attention of a translator's layer. */
#include "bench/kind.h"

cla_status bench_depthwise_conv1d(bench *b)
{
    static const bench_shape shapes[] = {
        { "B64 T32 D256 k7", "rows=64x32 D=256 K=7" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "layers",
        .lines = { .kind = &depthwise_conv1d_kind },
        .shapes = shapes,
        .directions = BENCH_BACKWARD,
    };
    return bench_table_run(b, &table);
}
