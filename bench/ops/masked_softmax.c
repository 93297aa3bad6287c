/* masked_softmax.c - softmax of attention maps, up to sizes beyond the last cache. */
#include "bench/kind.h"

cla_status bench_masked_softmax(bench *b)
{
    static const bench_shape shapes[] = {
        { "B8 H8 T256 S256", "B=8 H=8 T=256 S=256" },
        { "B64 H8 T64 S64", "B=64 H=8 T=64 S=64" },
        { "B8 H8 T1024 S1024", "B=8 H=8 T=1024 S=1024" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "softmax",
        .lines = { &masked_softmax_kind, "-q_len -k_len", NULL },
        .shapes = shapes,
        .quick = 1,
    };
    return bench_table_run(b, &table);
}
