/* ham.c - times HAM on a reader's passage and question at several depths, and in a
 * decoder's step with one query for each line. */
#include "clattn/ham.h"

#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"

enum { BATCH = 4, PASSAGE = 500, QUESTION = 60, WIDTH = 300 };

typedef struct batch {
    cla_ragged *q_rows, *k_rows;
    cla_ham_options options;
} batch;

static cla_status forward_v(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                            void *context)
{
    const batch *c = context;
    return cla_ham_v(tape, y, x[0], x[1], x[2], c->q_rows, c->k_rows, &c->options);
}

static cla_status forward_s(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                            void *context)
{
    const batch *c = context;
    return cla_ham_s(tape, y, x[0], x[1], c->k_rows, &c->options);
}

/* Times Ham-V. Each level has two products forward and five backward. c has no gradient
 * here: where levels have converged, its gradient is the rest of sums over all queries
 * that cancel, and differs between the schedules from the fifth digit on. */
static cla_status run_v(bench *b, batch *c, int depth, bool backward)
{
    const int queries = BATCH * PASSAGE, keys = BATCH * QUESTION;
    const double product = 2.0 * queries * QUESTION * WIDTH * depth;
    bench_op op = {
        .suite = "ham",
        .in = { { 2, { queries, WIDTH }, 0.3f },
                { 2, { keys, WIDTH }, 0.3f },
                { 1, { depth }, .constant = true } },
        .inputs = 3,
        .backward = backward,
        .flops = (backward ? 7 : 2) * product,
        .bytes = 4.0 * WIDTH * ((depth + 2.0) * queries + keys) * (backward ? 3 : 1),
        .forward = forward_v,
        .context = c,
    };
    snprintf(op.name, sizeof op.name, "ham_v %s B%d T%d S%d d%d depth%d",
             backward ? "fwd+bwd" : "fwd", BATCH, PASSAGE, QUESTION, WIDTH, depth);
    return bench_op_run(b, &op);
}

/* Times a step of a poem's decoder. */
static cla_status run_step(bench *b)
{
    enum { LINES = 64, MEMORY = 22, STATE = 1024, DEPTH = 10 };
    batch c = { .q_rows = NULL };
    bench_op op = {
        .suite = "ham",
        .in = { { 2, { LINES, STATE }, 0.3f },
                { 2, { LINES * MEMORY, STATE }, 0.3f },
                { 1, { DEPTH }, .constant = true } },
        .inputs = 3,
        .backward = true,
        .flops = 14.0 * LINES * MEMORY * STATE * DEPTH,
        .bytes = 12.0 * LINES * MEMORY * STATE,
        .forward = forward_v,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "ham_v fwd+bwd B%d T1 S%d d%d depth%d", LINES,
             MEMORY, STATE, DEPTH);
    CLA_TRY(bench_rows(b, &c.q_rows, LINES, 1));
    cla_status status = bench_rows(b, &c.k_rows, LINES, MEMORY);
    status = status ? status : bench_op_run(b, &op);
    cla_ragged_free(&c.q_rows);
    cla_ragged_free(&c.k_rows);
    return status;
}

static cla_status run_s(bench *b, batch *c, int depth)
{
    const int tokens = BATCH * QUESTION;
    bench_op op = {
        .suite = "ham",
        .in = { { 2, { tokens, WIDTH }, 0.3f }, { 1, { depth } } },
        .inputs = 2,
        .backward = true,
        .flops = 14.0 * tokens * QUESTION * WIDTH * depth,
        .bytes = 12.0 * WIDTH * (depth + 2.0) * tokens,
        .forward = forward_s,
        .context = c,
    };
    snprintf(op.name, sizeof op.name, "ham_s fwd+bwd B%d T%d d%d depth%d", BATCH,
             QUESTION, WIDTH, depth);
    return bench_op_run(b, &op);
}

static cla_status run_depths(bench *b, batch *c)
{
    static const int depths[] = { 1, 10, 20, 5 }; // --quick runs the last one only
    CLA_TRY(bench_rows(b, &c->q_rows, BATCH, PASSAGE));
    CLA_TRY(bench_rows(b, &c->k_rows, BATCH, QUESTION));
    for (int i = bench_quick(b) ? 3 : 0; i < 4; i++) {
        CLA_TRY(run_v(b, c, depths[i], false));
        CLA_TRY(run_v(b, c, depths[i], true));
        CLA_TRY(run_s(b, c, depths[i]));
    }
    return CLA_OK;
}

cla_status bench_ham(bench *b)
{
    batch c = { .q_rows = NULL };
    const cla_status status = run_depths(b, &c);
    cla_ragged_free(&c.q_rows);
    cla_ragged_free(&c.k_rows);
    return status ? status : run_step(b);
}
