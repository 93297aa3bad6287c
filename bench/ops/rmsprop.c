/* rmsprop.c - a step over the parameters of a tagger. */
#include "base/base.h"
#include "bench/bench.h"
#include "clattn/optim.h"

enum { SIZE = 2000000 };

typedef struct block {
    cla_runtime *rt;
    cla_tensor *t[3]; // p, a, g
} block;

static cla_status run(void *state)
{
    block *s = state;
    return cla_rmsprop(s->rt, s->t[0], s->t[1], s->t[2], 1e-6f, 0.9f, 1e-7f);
}

static cla_status run_size(bench *b, block *s, int64_t n)
{
    for (int i = 0; i < 3; i++) {
        CLA_TRY(bench_tensor(b, &s->t[i], 1, &n, false));
    }
    CLA_TRY(cla_tensor_fill(s->t[1], 1)); // a mean of squares
    const bench_case c = {
        .name = "rmsprop n2000000",
        .suite = "layers",
        .flops = 8.0 * SIZE,
        .bytes = 5.0 * 4 * SIZE,
        .run = run,
        .state = s,
    };
    return bench_run(b, &c);
}

cla_status bench_rmsprop(bench *b)
{
    block s = { .rt = bench_runtime(b) };
    if (!bench_wants(b, "layers", "rmsprop n2000000")) {
        return CLA_OK;
    }
    const cla_status status = run_size(b, &s, SIZE);
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&s.t[i]);
    }
    return status;
}
