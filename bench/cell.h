/* cell.h - a recurrent cell along whole sequences, and one step of it: what the benches
 * of cells share. */
#pragma once

#include "bench/bench.h"

/* The shape in which a cell runs, the context of its callbacks. */
typedef struct bench_walk {
    int B, T, in, n;
    cla_ragged *rows;
    int32_t *offsets;
} bench_walk;

/* weights: the inputs behind x of op, for in numbers a token and states of n. products:
 * how many numbers of weights a state's number has for each of what it is made of,
 * which is the token and, where the cell looks_back at one, the state before. */
typedef struct bench_cell {
    const char *name;
    int products;
    bool looks_back;
    void (*weights)(bench_op *op, int64_t in, int64_t n);
    cla_status (*forward)(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                          void *context);
    void (*oracle)(double *y, double *const *x, void *context);
} bench_cell;

cla_status bench_cell_run(bench *b, const bench_cell *cell);
