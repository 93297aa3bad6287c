/* max_attention.c - what of passages their questions are about. */
#include "bench/kind.h"

cla_status bench_max_attention(bench *b)
{
    static const bench_shape shapes[] = {
        { "B32 T250 S15 d300", "q_rows=32x250 k_rows=32x15 d=300" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "ham",
        .lines = { .kind = &max_attention_kind },
        .shapes = shapes,
        .directions = BENCH_BACKWARD,
    };
    return bench_table_run(b, &table);
}
