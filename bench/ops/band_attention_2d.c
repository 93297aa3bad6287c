/* band_attention_2d.c - attention inside a window of positions and heads. */
#include "bench/kind.h"

cla_status bench_band_attention_2d(bench *b)
{
    static const bench_shape shapes[] = {
        { "B8 H8 T512 d64 w11 h3", "rows=8x512 H=8 d=64 window=11 heads=3" },
        { "B1 H8 T4096 d64 w11 h3", "rows=1x4096 H=8 d=64 window=11 heads=3" },
        { "B64 H8 T64 d64 w11 h3", "rows=64x64 H=8 d=64 window=11 heads=3" },
        { "B8 H8 T512 d64 w3 h3", "rows=8x512 H=8 d=64 window=3 heads=3" },
        { "B8 H8 T512 d64 w33 h3", "rows=8x512 H=8 d=64 window=33 heads=3" },
        { "B8 H8 T512 d64 w11 h5", "rows=8x512 H=8 d=64 window=11 heads=5" },
        { "B8 H8 T512 d64 w11 h1", "rows=8x512 H=8 d=64 window=11 heads=1" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "band",
        .lines = { .kind = &band_attention_2d_kind },
        .shapes = shapes,
        .quick = 1,
    };
    return bench_table_run(b, &table);
}
