/* sru.c - a recurrent cell along whole sequences, and one step of it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "bench/bench.h"
#include "oracle/oracle.h"

typedef struct walk {
    int B, T, in, n;
    cla_ragged *rows;
    int32_t *offsets;
} walk;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const walk *c = context;
    const cla_sru_weights w = { x[1], x[2], x[3] };
    return cla_sru(tape, y, x[0], &w, c->rows, NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const walk *c = context;
    const oracle_cell s = { .B = c->B,
                            .in = c->in,
                            .n = c->n,
                            .offsets = c->offsets,
                            .w = x[1],
                            .w_c = x[2],
                            .b_c = x[3] };
    double *states = calloc(2 * (size_t)(c->B * c->n) + 1, sizeof *states);
    if (states) {
        oracle_sru(y, states, x[0], NULL, &s);
    }
    free(states);
}

static cla_status make_rows(bench *b, walk *c)
{
    CLA_TRY(cla_alloc(&c->offsets, (size_t)c->B + 1, sizeof *c->offsets));
    for (int i = 0; i <= c->B; i++) {
        c->offsets[i] = i * c->T;
    }
    return bench_rows(b, &c->rows, c->B, c->T);
}

static cla_status run_shape(bench *b, walk *c, bool backward)
{
    const double tokens = (double)c->B * c->T, parts = 3.0 * c->n;
    bench_op op = {
        .suite = "layers",
        .in = { { 2, { (int64_t)c->B * c->T, c->in } },
                { 2, { c->in, c->n }, .scale = 0.08f },
                { 2, { c->in, 2 * (int64_t)c->n }, .scale = 0.08f },
                { 1, { 2 * (int64_t)c->n } } },
        .inputs = 4,
        .backward = backward,
        .flops = (backward ? 6 : 2) * tokens * parts * c->in,
        .bytes = (backward ? 3 : 1) * 4 * tokens * (c->in + c->n),
        .forward = forward,
        .oracle = oracle,
        .context = c,
    };
    snprintf(op.name, sizeof op.name, "sru %s B%d T%d in%d n%d",
             backward ? "fwd+bwd" : "fwd", c->B, c->T, c->in, c->n);
    cla_status status = make_rows(b, c);
    status = status ? status : bench_op_run(b, &op);
    cla_ragged_free(&c->rows);
    free(c->offsets);
    return status;
}

cla_status bench_sru(bench *b)
{
    walk line = { .B = 32, .T = 64, .in = 256, .n = 128 };
    walk step = { .B = 32, .T = 1, .in = 300, .n = 150 };
    CLA_TRY(run_shape(b, &line, false));
    CLA_TRY(run_shape(b, &line, true));
    return run_shape(b, &step, false);
}
