/* block.h - a step over blocks of numbers as large as each other: what the benches of
 * optimisers share. */
#pragma once

#include "bench/bench.h"
#include "clattn/optim.h"

enum { BENCH_BLOCKS = 4 };

typedef struct bench_block {
    const char *name;
    int64_t n;
    int blocks;              // how many of t there are
    bool ones[BENCH_BLOCKS]; // filled with 1, as a mean of squares; others are drawn
    double flops, moves;     // of a number: operations, floats read and written
    cla_status (*step)(cla_runtime *rt, cla_tensor *const *t, const void *context);
    const void *context;
} bench_block;

cla_status bench_block_run(bench *b, const bench_block *block);
