/* ragged_cross_entropy.c - the loss of a reader's start or end. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "clattn/ham.h"

enum { BATCH = 32, LENGTH = 500 };

typedef struct batch {
    cla_ragged *rows;
    cla_tensor *targets;
} batch;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const batch *c = context;
    return cla_ragged_cross_entropy(tape, y, x[0], c->targets, c->rows, NULL);
}

static cla_status run(bench *b, batch *c)
{
    const int64_t sequences = BATCH, numbers = (int64_t)BATCH * LENGTH;
    int32_t targets[BATCH];
    bench_op op = {
        .suite = "ham",
        .in = { { 1, { numbers } } },
        .inputs = 1,
        .backward = true,
        .flops = 10.0 * (double)numbers,
        .bytes = 16.0 * (double)numbers,
        .forward = forward,
        .context = c,
    };
    for (int i = 0; i < BATCH; i++) {
        targets[i] = i * 7 % LENGTH;
    }
    CLA_TRY(cla_tensor_new(&c->targets, bench_runtime(b), CLA_I32, 1, &sequences));
    CLA_TRY(cla_tensor_upload(c->targets, targets));
    CLA_TRY(bench_rows(b, &c->rows, BATCH, LENGTH));
    snprintf(op.name, sizeof op.name, "ragged_cross_entropy fwd+bwd B%d S%d", BATCH,
             LENGTH);
    return bench_op_run(b, &op);
}

cla_status bench_ragged_cross_entropy(bench *b)
{
    batch c = { 0 };
    const cla_status status = run(b, &c);
    cla_tensor_free(&c.targets);
    cla_ragged_free(&c.rows);
    return status;
}
