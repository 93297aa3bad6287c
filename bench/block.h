/* block.h - shared by the benchmarks of optimisers: times a step over blocks of numbers
 * of equal size. */
#pragma once

#include "bench/bench.h"
#include "clattn/optim.h"

enum { BENCH_BLOCKS = 4 };

typedef struct bench_block {
    const char *name;
    int64_t n;
    int blocks;              // length of t
    bool ones[BENCH_BLOCKS]; // 1, like a mean of squares; others n(0,1)
    double flops, moves;     // for each number: operations; floats read and written
    cla_status (*step)(cla_runtime *rt, cla_tensor *const *t, const void *context);
    const void *context;
} bench_block;

cla_status bench_block_run(bench *b, const bench_block *block);
