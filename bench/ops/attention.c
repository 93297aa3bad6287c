/* attention.c - full attention: encoder, causal decoder, cross. */
#include "bench/kind.h"

cla_status bench_attention(bench *b)
{
    static const bench_shape shapes[] = {
        { "B64 H8 T64 d64", "q_rows=64x64 k_rows=64x64 H=8 d=64" },
        { "B8 H8 T512 d64 causal", "q_rows=8x512 k_rows=8x512 H=8 d=64 causal=1" },
        { "B32 H8 T48 S64 d64", "q_rows=32x48 k_rows=32x64 H=8 d=64" },
        { "B8 H8 T512 d64", "q_rows=8x512 k_rows=8x512 H=8 d=64" },
        { "B8 H8 T256 d128", "q_rows=8x256 k_rows=8x256 H=8 d=128" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "attention",
        .lines = { .kind = &attention_kind },
        .shapes = shapes,
        .quick = 1,
    };
    return bench_table_run(b, &table);
}
