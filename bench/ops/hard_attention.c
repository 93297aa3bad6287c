/* hard_attention.c - times a decoder's hard attention, dense and by open gates. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "clattn/hard.h"

typedef struct batch {
    int sequences, length, width;
    cla_hard_form form;
    cla_ragged *rows;
} batch;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const batch *c = context;
    const cla_hard_options options = { .gate = CLA_GATE_SAMPLE,
                                       .scale = 1,
                                       .form = c->form };
    cla_tape_random(tape, 42, 0);
    return cla_hard_attention(tape, y, x[0], x[1], x[2], c->rows, c->rows, &options);
}

static cla_status run_form(bench *b, batch c)
{
    const int tokens = c.sequences * c.length;
    const double product = 2.0 * tokens * c.length * c.width;
    bench_op op = {
        .suite = "attention",
        .in = { { 2, { tokens, c.width }, 0.2f },
                { 2, { tokens, c.width }, 0.2f },
                { 2, { tokens, c.width } } },
        .inputs = 3,
        .backward = true,
        .flops = 3 * product,
        .bytes = 4.0 * (6.0 * tokens * c.width + 3.0 * tokens * c.length),
        .forward = forward,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "hard_attention %s fwd+bwd B%d T%d D%d",
             c.form == CLA_HARD_DENSE ? "dense" : "sparse", c.sequences, c.length,
             c.width);
    if (!bench_wants(b, op.suite, op.name)) {
        return CLA_OK;
    }
    CLA_TRY(bench_rows(b, &c.rows, c.sequences, c.length));
    const cla_status status = bench_op_run(b, &op);
    cla_ragged_free(&c.rows);
    return status;
}

cla_status bench_hard_attention(bench *b)
{
    batch c = { .sequences = 32, .length = 24, .width = 256 };
    for (int size = 0; size < (bench_quick(b) ? 1 : 2); size++) {
        c.form = CLA_HARD_DENSE;
        CLA_TRY(run_form(b, c));
        c.form = CLA_HARD_SPARSE;
        CLA_TRY(run_form(b, c));
        c = (batch){ .sequences = 64, .length = 32, .width = 1024 };
    }
    return CLA_OK;
}
