/* additive_attention.c - a step of a reader: each question's memory is asked once; and
 * a passage that looks at itself. */
#include "bench/kind.h"

cla_status bench_additive_attention(bench *b)
{
    static const bench_shape shapes[] = {
        { "B32 T1 S30 a150 d150", "q_rows=32x1 k_rows=32x30 a=150 d=150" },
        { "B32 T1 S300 a150 d150", "q_rows=32x1 k_rows=32x300 a=150 d=150" },
        { "B32 T120 S120 a75 d150", "q_rows=32x120 k_rows=32x120 a=75 d=150" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "ham",
        .lines = { .kind = &additive_attention_kind },
        .shapes = shapes,
        .quick = 1,
    };
    return bench_table_run(b, &table);
}
