/* additive_attention.c - a step of a reader: each question's memory is asked once; and
 * a passage that looks at itself. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "clattn/ham.h"

enum { BATCH = 32, WIDTH = 150 };

typedef struct batch {
    int queries, length, inner;
    cla_ragged *q_rows, *k_rows;
} batch;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const batch *c = context;
    return cla_additive_attention(tape, y, x[0], x[1], x[2], x[3], c->q_rows, c->k_rows,
                                  NULL);
}

static cla_status run_step(bench *b, batch *c, bool backward)
{
    const int queries = BATCH * c->queries, keys = BATCH * c->length, a = c->inner;
    const double pairs = (double)keys * c->queries;
    const double tanhs = pairs * a, sums = 2.0 * pairs * WIDTH;
    bench_op op = {
        .suite = "ham",
        .in = { { 2, { keys, a } },
                { 2, { queries, a } },
                { 1, { a } },
                { 2, { keys, WIDTH } } },
        .inputs = 4,
        .backward = backward,
        .flops = backward ? 50 * tanhs + 3 * sums : 20 * tanhs + sums,
        .bytes = 4.0 * keys * (a + WIDTH) * (backward ? 4 : 1),
        .forward = forward,
        .context = c,
    };
    snprintf(op.name, sizeof op.name, "additive_attention %s B%d T%d S%d a%d d%d",
             backward ? "fwd+bwd" : "fwd", BATCH, c->queries, c->length, a, WIDTH);
    return bench_op_run(b, &op);
}

static cla_status run_length(bench *b, batch *c)
{
    CLA_TRY(bench_rows(b, &c->q_rows, BATCH, c->queries));
    CLA_TRY(bench_rows(b, &c->k_rows, BATCH, c->length));
    CLA_TRY(run_step(b, c, false));
    return run_step(b, c, true);
}

cla_status bench_additive_attention(bench *b)
{
    static const batch cases[] = { { .queries = 1, .length = 30, .inner = 150 },
                                   { .queries = 1, .length = 300, .inner = 150 },
                                   { .queries = 120, .length = 120, .inner = 75 } };
    cla_status status = CLA_OK;
    for (int i = 0; i < (bench_quick(b) ? 1 : 3) && !status; i++) {
        batch c = cases[i];
        status = run_length(b, &c);
        cla_ragged_free(&c.q_rows);
        cla_ragged_free(&c.k_rows);
    }
    return status;
}
