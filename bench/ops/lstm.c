/* lstm.c - a recurrent cell along whole sequences, and one step of it. */
#include <stdlib.h>

#include "bench/cell.h"
#include "oracle/oracle.h"

static void weights(bench_op *op, int64_t in, int64_t n)
{
    op->in[1] = (bench_input){ 2, { in + n, 4 * n }, .scale = 0.08f };
    op->in[2] = (bench_input){ .rank = 1, .shape = { 4 * n } };
    op->inputs = 3;
}

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const bench_walk *c = context;
    return cla_lstm(tape, y, x[0], x[1], x[2], c->rows, NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const bench_walk *c = context;
    const oracle_cell s = {
        .B = c->B, .in = c->in, .n = c->n, .offsets = c->offsets, .w = x[1], .b = x[2]
    };
    double *states = calloc(2 * (size_t)(c->B * c->n) + 1, sizeof *states);
    if (states) {
        oracle_lstm(y, states, states + (ptrdiff_t)c->B * c->n, x[0], NULL, NULL, &s);
    }
    free(states);
}

cla_status bench_lstm(bench *b)
{
    static const bench_cell cell = {
        .name = "lstm",
        .products = 4,
        .looks_back = true,
        .weights = weights,
        .forward = forward,
        .oracle = oracle,
    };
    return bench_cell_run(b, &cell);
}
