/* additive_attention.c - a step of a reader: each question's memory is asked once. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "clattn/ham.h"

enum { BATCH = 32, INNER = 150, WIDTH = 150 };

typedef struct batch {
    int length;
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
    const int keys = BATCH * c->length;
    const double tanhs = (double)keys * INNER, sums = 2.0 * keys * WIDTH;
    bench_op op = {
        .suite = "ham",
        .in = { { 2, { keys, INNER } },
                { 2, { BATCH, INNER } },
                { 1, { INNER } },
                { 2, { keys, WIDTH } } },
        .inputs = 4,
        .backward = backward,
        .flops = backward ? 50 * tanhs + 3 * sums : 20 * tanhs + sums,
        .bytes = 4.0 * keys * (INNER + WIDTH) * (backward ? 4 : 1),
        .forward = forward,
        .context = c,
    };
    snprintf(op.name, sizeof op.name, "additive_attention %s B%d T1 S%d a%d d%d",
             backward ? "fwd+bwd" : "fwd", BATCH, c->length, INNER, WIDTH);
    return bench_op_run(b, &op);
}

static cla_status run_length(bench *b, batch *c)
{
    CLA_TRY(bench_rows(b, &c->q_rows, BATCH, 1));
    CLA_TRY(bench_rows(b, &c->k_rows, BATCH, c->length));
    CLA_TRY(run_step(b, c, false));
    return run_step(b, c, true);
}

cla_status bench_additive_attention(bench *b)
{
    static const int lengths[] = { 30, 300 }; // of a question, of a passage
    cla_status status = CLA_OK;
    for (int i = 0; i < (bench_quick(b) ? 1 : 2) && !status; i++) {
        batch c = { .length = lengths[i] };
        status = run_length(b, &c);
        cla_ragged_free(&c.q_rows);
        cla_ragged_free(&c.k_rows);
    }
    return status;
}
