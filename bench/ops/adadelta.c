/* adadelta.c - a step over the parameters of a tagger. */
#include "base/base.h"
#include "bench/bench.h"
#include "clattn/optim.h"

enum { SIZE = 2000000 };

typedef struct block {
    cla_runtime *rt;
    cla_tensor *t[4]; // p, a, d, g
} block;

static cla_status run(void *state)
{
    block *s = state;
    return cla_adadelta(s->rt, s->t[0], s->t[1], s->t[2], s->t[3], 1e-6f, 0.95f, 1e-6f);
}

static cla_status run_size(bench *b, block *s, int64_t n)
{
    for (int i = 0; i < 4; i++) {
        CLA_TRY(bench_tensor(b, &s->t[i], 1, &n, false));
    }
    CLA_TRY(cla_tensor_fill(s->t[1], 1)); // means of squares
    CLA_TRY(cla_tensor_fill(s->t[2], 1));
    const bench_case c = {
        .name = "adadelta n2000000",
        .suite = "layers",
        .flops = 14.0 * SIZE,
        .bytes = 7.0 * 4 * SIZE,
        .run = run,
        .state = s,
    };
    return bench_run(b, &c);
}

cla_status bench_adadelta(bench *b)
{
    block s = { .rt = bench_runtime(b) };
    if (!bench_wants(b, "layers", "adadelta n2000000")) {
        return CLA_OK;
    }
    const cla_status status = run_size(b, &s, SIZE);
    for (int i = 0; i < 4; i++) {
        cla_tensor_free(&s.t[i]);
    }
    return status;
}
