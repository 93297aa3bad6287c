/* dropout.c - random numbers beside the bandwidth they hide behind. */
#include "bench/kind.h"

cla_status bench_dropout(bench *b)
{
    static const bench_shape shapes[] = {
        { "N1920 D192", "...=1920,192" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "layers",
        .lines = { &dropout_kind, "p=0.1", NULL },
        .shapes = shapes,
        .directions = BENCH_BACKWARD,
    };
    return bench_table_run(b, &table);
}
