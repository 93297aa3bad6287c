/* block.c - times a step over blocks of numbers of equal size. */
#include "bench/block.h"

#include <stdio.h>

#include "base/base.h"

typedef struct blocks {
    const bench_block *what;
    cla_runtime *rt;
    cla_tensor *t[BENCH_BLOCKS];
} blocks;

static cla_status run(void *state)
{
    const blocks *s = state;
    return s->what->step(s->rt, s->t, s->what->context);
}

static cla_status run_blocks(bench *b, blocks *s, bench_case *c)
{
    const bench_block *what = s->what;
    for (int i = 0; i < what->blocks; i++) {
        CLA_TRY(bench_tensor(b, &s->t[i], 1, &what->n, false));
        CLA_TRY(what->ones[i] ? cla_tensor_fill(s->t[i], 1) : CLA_OK);
    }
    return bench_run(b, c);
}

cla_status bench_block_run(bench *b, const bench_block *block)
{
    blocks s = { .what = block, .rt = bench_runtime(b) };
    bench_case c = {
        .suite = "layers",
        .flops = block->flops * (double)block->n,
        .bytes = block->moves * 4 * (double)block->n,
        .run = run,
        .state = &s,
    };
    snprintf(c.name, sizeof c.name, "%s n%lld", block->name, (long long)block->n);
    if (!bench_wants(b, c.suite, c.name)) {
        return CLA_OK;
    }
    const cla_status status = run_blocks(b, &s, &c);
    for (int i = 0; i < block->blocks; i++) {
        cla_tensor_free(&s.t[i]);
    }
    return status;
}
