/* cross_entropy.c - the loss of a tagger and of a translator. */
#include "bench/kind.h"

static void fill(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)operand;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = (int32_t)i % kind_size(c, "V");
    }
}

cla_status bench_cross_entropy(bench *b)
{
    static const bench_shape shapes[] = {
        { "N1920 V19", "N=1920 V=19" },
        { "N1536 V8000", "N=1536 V=8000" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "layers",
        .lines = { &cross_entropy_kind, "smoothing=0.1 -factor", fill },
        .shapes = shapes,
        .quick = 1,
        .directions = BENCH_BACKWARD,
    };
    return bench_table_run(b, &table);
}
