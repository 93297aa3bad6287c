/* lstm.c - a recurrent cell along whole sequences, and one step of it. */
#include "bench/kind.h"

cla_status bench_lstm(bench *b)
{
    static const bench_shape shapes[] = {
        { "B32 T64 in256 n128", "rows=32x64 in=256 n=128" },
        { "B32 T1 in300 n150", "rows=32x1 in=300 n=150 forward" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "layers",
        .lines = { &lstm_kind, "-h0 -c0", NULL },
        .shapes = shapes,
        .scale = { [1] = 0.08f },
    };
    return bench_table_run(b, &table);
}
