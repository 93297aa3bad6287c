/* band_attention.c - attention inside a window: lengths, windows, head widths. */
#include "bench/kind.h"

cla_status bench_band_attention(bench *b)
{
    static const bench_shape shapes[] = {
        { "B8 H8 T512 d64 w11", "rows=8x512 H=8 d=64 window=11" },
        { "B1 H8 T4096 d64 w11", "rows=1x4096 H=8 d=64 window=11" },
        { "B64 H8 T64 d64 w11", "rows=64x64 H=8 d=64 window=11" },
        { "B8 H8 T512 d64 w3", "rows=8x512 H=8 d=64 window=3" },
        { "B8 H8 T512 d64 w21", "rows=8x512 H=8 d=64 window=21" },
        { "B8 H8 T512 d64 w33", "rows=8x512 H=8 d=64 window=33" },
        { "B8 H8 T512 d64 w65", "rows=8x512 H=8 d=64 window=65" },
        { "B1 H8 T4096 d64 w65", "rows=1x4096 H=8 d=64 window=65" },
        { "B8 H8 T512 d32 w11", "rows=8x512 H=8 d=32 window=11" },
        { "B8 H8 T512 d40 w11", "rows=8x512 H=8 d=40 window=11" },
        { "B8 H8 T512 d128 w11", "rows=8x512 H=8 d=128 window=11" },
        { "B8 H8 T512 d256 w11", "rows=8x512 H=8 d=256 window=11" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "band",
        .lines = { .kind = &band_attention_kind },
        .shapes = shapes,
        .quick = 1,
    };
    return bench_table_run(b, &table);
}
