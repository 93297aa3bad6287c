/* relative_attention.c - a layer of the translator with vectors for distances, beside
 * plain attention in the same suite. */
#include "bench/kind.h"

cla_status bench_relative_attention(bench *b)
{
    static const bench_shape shapes[] = {
        { "B16 H8 T32 d64 R16", "q_rows=16x32 k_rows=16x32 H=8 d=64 R=16" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "attention",
        .lines = { .kind = &relative_attention_kind },
        .shapes = shapes,
    };
    return bench_table_run(b, &table);
}
