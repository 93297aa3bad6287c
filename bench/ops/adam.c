/* adam.c - a step over the parameters of a small Transformer. */
#include "base/base.h"
#include "bench/bench.h"
#include "clattn/optim.h"

enum { SIZE = 8000000 };

typedef struct block {
    cla_runtime *rt;
    cla_tensor *t[4]; // p, m, v, g
} block;

static cla_status run(void *state)
{
    static const cla_adam_options options = { 1e-6f, 0.9f, 0.98f, 1e-9f };
    block *s = state;
    return cla_adam(s->rt, s->t[0], s->t[1], s->t[2], s->t[3], 1, &options);
}

static cla_status run_size(bench *b, block *s, int64_t n)
{
    for (int i = 0; i < 4; i++) {
        CLA_TRY(bench_tensor(b, &s->t[i], 1, &n, false));
    }
    CLA_TRY(cla_tensor_fill(s->t[2], 1)); // a mean of squares
    const bench_case c = {
        .name = "adam n8000000",
        .suite = "layers",
        .flops = 13.0 * SIZE,
        .bytes = 7.0 * 4 * SIZE,
        .run = run,
        .state = s,
    };
    return bench_run(b, &c);
}

cla_status bench_adam(bench *b)
{
    block s = { .rt = bench_runtime(b) };
    if (!bench_wants(b, "layers", "adam n8000000")) {
        return CLA_OK;
    }
    const cla_status status = run_size(b, &s, SIZE);
    for (int i = 0; i < 4; i++) {
        cla_tensor_free(&s.t[i]);
    }
    return status;
}
