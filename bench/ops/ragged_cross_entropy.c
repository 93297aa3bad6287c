/* ragged_cross_entropy.c - the loss of a reader's start or end. */
#include "bench/kind.h"

static void fill(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)c;
    (void)operand;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = (int32_t)i * 7 % 500;
    }
}

cla_status bench_ragged_cross_entropy(bench *b)
{
    static const bench_shape shapes[] = {
        { "B32 S500", "rows=32x500" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "ham",
        .lines = { &ragged_cross_entropy_kind, NULL, fill },
        .shapes = shapes,
        .directions = BENCH_BACKWARD,
    };
    return bench_table_run(b, &table);
}
