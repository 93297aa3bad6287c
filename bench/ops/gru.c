/* gru.c - a recurrent cell along whole sequences, and one step of it. */
#include <stdlib.h>

#include "bench/cell.h"
#include "oracle/oracle.h"

static void weights(bench_op *op, int64_t in, int64_t n)
{
    op->in[1] = (bench_input){ 2, { in + n, 2 * n }, .scale = 0.08f };
    op->in[2] = (bench_input){ .rank = 1, .shape = { 2 * n } };
    op->in[3] = (bench_input){ 2, { in + n, n }, .scale = 0.08f };
    op->in[4] = (bench_input){ .rank = 1, .shape = { n } };
    op->inputs = 5;
}

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const bench_walk *c = context;
    const cla_gru_weights w = { x[1], x[2], x[3], x[4] };
    return cla_gru(tape, y, x[0], &w, c->rows, NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const bench_walk *c = context;
    const oracle_cell s = { .B = c->B,
                            .in = c->in,
                            .n = c->n,
                            .offsets = c->offsets,
                            .w = x[1],
                            .b = x[2],
                            .w_c = x[3],
                            .b_c = x[4] };
    double *states = calloc(2 * (size_t)(c->B * c->n) + 1, sizeof *states);
    if (states) {
        oracle_gru(y, states, x[0], NULL, &s);
    }
    free(states);
}

cla_status bench_gru(bench *b)
{
    static const bench_cell cell = {
        .name = "gru",
        .products = 3,
        .looks_back = true,
        .weights = weights,
        .forward = forward,
        .oracle = oracle,
    };
    return bench_cell_run(b, &cell);
}
