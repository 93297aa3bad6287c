/* clip.c - times the norm of a gradient and its download. */
#include "base/base.h"
#include "bench/bench.h"
#include "clattn/optim.h"

enum { SIZE = 2000000 };

typedef struct block {
    cla_runtime *rt;
    cla_tensor *g;
} block;

static cla_status run(void *state)
{
    block *s = state;
    double norm = 0;
    return cla_norm(s->rt, &norm, s->g);
}

cla_status bench_clip(bench *b)
{
    const int64_t n = SIZE;
    block s = { .rt = bench_runtime(b) };
    const bench_case c = {
        .name = "clip norm n2000000",
        .suite = "layers",
        .flops = 2.0 * SIZE,
        .bytes = 4.0 * SIZE,
        .run = run,
        .state = &s,
    };
    if (!bench_wants(b, c.suite, c.name)) {
        return CLA_OK;
    }
    CLA_TRY(bench_tensor(b, &s.g, 1, &n, false));
    const cla_status status = bench_run(b, &c);
    cla_tensor_free(&s.g);
    return status;
}
