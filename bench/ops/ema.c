/* ema.c - the running mean of the parameters of a tagger. */
#include "base/base.h"
#include "bench/bench.h"
#include "clattn/optim.h"

enum { SIZE = 2000000 };

typedef struct block {
    cla_runtime *rt;
    cla_tensor *t[2]; // e, p
} block;

static cla_status run(void *state)
{
    block *s = state;
    return cla_ema(s->rt, s->t[0], s->t[1], 0.999f);
}

static cla_status run_size(bench *b, block *s, int64_t n)
{
    for (int i = 0; i < 2; i++) {
        CLA_TRY(bench_tensor(b, &s->t[i], 1, &n, false));
    }
    const bench_case c = {
        .name = "ema n2000000",
        .suite = "layers",
        .flops = 3.0 * SIZE,
        .bytes = 3.0 * 4 * SIZE,
        .run = run,
        .state = s,
    };
    return bench_run(b, &c);
}

cla_status bench_ema(bench *b)
{
    block s = { .rt = bench_runtime(b) };
    if (!bench_wants(b, "layers", "ema n2000000")) {
        return CLA_OK;
    }
    const cla_status status = run_size(b, &s, SIZE);
    for (int i = 0; i < 2; i++) {
        cla_tensor_free(&s.t[i]);
    }
    return status;
}
