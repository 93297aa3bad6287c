/* max_attention.c - what of passages their questions are about. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "clattn/ham.h"

enum { BATCH = 32, LENGTH = 250, KEYS = 15, WIDTH = 300 };

typedef struct batch {
    cla_ragged *q_rows, *k_rows;
} batch;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const batch *c = context;
    return cla_max_attention(tape, y, x[0], x[1], c->q_rows, c->k_rows);
}

static cla_status run(bench *b, batch *c)
{
    const double products = 2.0 * BATCH * LENGTH * WIDTH;
    bench_op op = {
        .suite = "ham",
        .in = { { 2, { BATCH * LENGTH, WIDTH } }, { 2, { BATCH * KEYS, WIDTH } } },
        .inputs = 2,
        .backward = true,
        .flops = products * (KEYS + 5),
        .bytes = 4.0 * BATCH * WIDTH * (5.0 * LENGTH + 3 * KEYS),
        .forward = forward,
        .context = c,
    };
    CLA_TRY(bench_rows(b, &c->q_rows, BATCH, LENGTH));
    CLA_TRY(bench_rows(b, &c->k_rows, BATCH, KEYS));
    snprintf(op.name, sizeof op.name, "max_attention fwd+bwd B%d T%d S%d d%d", BATCH,
             LENGTH, KEYS, WIDTH);
    return bench_op_run(b, &op);
}

cla_status bench_max_attention(bench *b)
{
    batch c = { 0 };
    const cla_status status = run(b, &c);
    cla_ragged_free(&c.q_rows);
    cla_ragged_free(&c.k_rows);
    return status;
}
