/* embedding.c - look-ups of words and of characters, with the table's gradient. */
#include "base/rng.h"
#include "bench/kind.h"

/* Half of all ids are 0, the others spread evenly: padding beside words. */
static void fill(int32_t *ids, int64_t count, const op_call *c, int operand)
{
    (void)operand;
    for (int64_t n = 0; n < count; n++) {
        const uint32_t counter[4] = { (uint32_t)n }, key[2] = { 42 };
        const cla_philox r = cla_philox4x32(counter, key);
        ids[n] = r.v[0] % 2 ? 0 : (int32_t)(r.v[1] % (uint32_t)kind_size(c, "V"));
    }
}

cla_status bench_embedding(bench *b)
{
    static const bench_shape shapes[] = {
        { "N1920 D128 V8000", "N=1920 D=128 V=8000" },
        { "N8000 D64 V120", "N=8000 D=64 V=120" },
        { "N2048 D512 V32000", "N=2048 D=512 V=32000" },
        { NULL },
    };
    static const bench_table table = {
        .suite = "layers",
        .lines = { &embedding_kind, "scale=1", fill },
        .shapes = shapes,
        .quick = 2,
        .directions = BENCH_BACKWARD,
    };
    return bench_table_run(b, &table);
}
