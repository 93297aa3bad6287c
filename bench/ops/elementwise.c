/* elementwise.c - the small operators around a layer: all bandwidth. */
#include "base/base.h"
#include "bench/kind.h"

cla_status bench_elementwise(bench *b)
{
    static const bench_shape adds[] = { { "N1920 D192", "...=1920,192" }, { NULL } };
    static const bench_shape joins[] = { { "N1920 128+64", "N=1920 Ca=128 Cb=64" },
                                         { NULL } };
    static const bench_shape heads[] = { { "N1920 H4 d48", "N=1920 H=4 d=48" },
                                         { NULL } };
    static const bench_table tables[] = {
        { "layers", { .kind = &add_kind }, adds, .directions = BENCH_BACKWARD },
        { "layers", { .kind = &concat_kind }, joins, .directions = BENCH_BACKWARD },
        { "layers",
          { .kind = &scale_heads_kind },
          heads,
          .directions = BENCH_BACKWARD },
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        CLA_TRY(bench_table_run(b, &tables[i]));
    }
    return CLA_OK;
}
