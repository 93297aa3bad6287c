/* cell.c - a recurrent cell along whole sequences, and one step of it. */
#include "bench/cell.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

static cla_status make_rows(bench *b, bench_walk *c)
{
    CLA_TRY(cla_alloc(&c->offsets, (size_t)c->B + 1, sizeof *c->offsets));
    for (int i = 0; i <= c->B; i++) {
        c->offsets[i] = i * c->T;
    }
    return bench_rows(b, &c->rows, c->B, c->T);
}

static cla_status run_shape(bench *b, const bench_cell *cell, bench_walk c,
                            bool backward)
{
    const double tokens = (double)c.B * c.T;
    bench_op op = {
        .suite = "layers",
        .in = { { 2, { (int64_t)c.B * c.T, c.in } } },
        .backward = backward,
        .flops = (backward ? 6 : 2) * tokens * cell->products * c.n *
                 (c.in + (cell->looks_back ? c.n : 0)),
        .bytes = (backward ? 3 : 1) * 4 * tokens * (c.in + c.n),
        .forward = cell->forward,
        .oracle = cell->oracle,
        .context = &c,
    };
    cell->weights(&op, c.in, c.n);
    snprintf(op.name, sizeof op.name, "%s %s B%d T%d in%d n%d", cell->name,
             backward ? "fwd+bwd" : "fwd", c.B, c.T, c.in, c.n);
    cla_status status = make_rows(b, &c);
    status = status ? status : bench_op_run(b, &op);
    cla_ragged_free(&c.rows);
    free(c.offsets);
    return status;
}

cla_status bench_cell_run(bench *b, const bench_cell *cell)
{
    const bench_walk line = { .B = 32, .T = 64, .in = 256, .n = 128 };
    const bench_walk step = { .B = 32, .T = 1, .in = 300, .n = 150 };
    CLA_TRY(run_shape(b, cell, line, false));
    CLA_TRY(run_shape(b, cell, line, true));
    return run_shape(b, cell, step, false);
}
