/* reader.c - times layers of the models that read a passage and point at an answer. */
#include <stdio.h>

#include "bench/internal.h"

/* A layer of a reader's encoder: both directions of a recurrent cell, side by side. */
typedef struct reader_layer {
    int B, T, in, n;
    bool gru;
    cla_ragged *rows;
} reader_layer;

static cla_status walk_lstm(cla_tape *tape, cla_tensor *y[2], cla_tensor **x,
                            const cla_ragged *rows)
{
    for (int back = 0; back < 2; back++) {
        const cla_recurrent_options options = { .reverse = back };
        cla_tensor **w = x + 1 + (ptrdiff_t)2 * back;
        CLA_TRY(cla_lstm(tape, &y[back], x[0], w[0], w[1], rows, &options));
    }
    return CLA_OK;
}

static cla_status walk_gru(cla_tape *tape, cla_tensor *y[2], cla_tensor **x,
                           const cla_ragged *rows)
{
    for (int back = 0; back < 2; back++) {
        const cla_recurrent_options options = { .reverse = back };
        cla_tensor **w = x + 1 + (ptrdiff_t)4 * back;
        const cla_gru_weights weights = { w[0], w[1], w[2], w[3] };
        CLA_TRY(cla_gru(tape, &y[back], x[0], &weights, rows, &options));
    }
    return CLA_OK;
}

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const reader_layer *c = context;
    cla_tensor *way[2] = { NULL };
    CLA_TRY(c->gru ? walk_gru(tape, way, x, c->rows)
                   : walk_lstm(tape, way, x, c->rows));
    return cla_concat(tape, y, way[0], way[1]);
}

/* Describes the weights of one direction, in[0] and following; returns their number. */
static int describe_weights(bench_input *in, const reader_layer *c)
{
    const int64_t n = c->n, rows = c->in + n;
    const int64_t columns[2] = { c->gru ? 2 * n : 4 * n, n };
    int count = 0;
    for (int matrix = 0; matrix < (c->gru ? 2 : 1); matrix++) {
        in[count++] = (bench_input){ .rank = 2,
                                     .shape = { rows, columns[matrix] },
                                     .scale = 0.05f };
        in[count++] = (bench_input){ .rank = 1, .shape = { columns[matrix] } };
    }
    return count;
}

static cla_status run_layer(bench *b, reader_layer c)
{
    const double tokens = (double)c.B * c.T, gates = c.gru ? 3 : 4;
    bench_op op = {
        .suite = "reader",
        .in = { { 2, { (int64_t)c.B * c.T, c.in } } },
        .inputs = 1,
        .backward = true,
        .flops = 2 * 6 * tokens * gates * c.n * (c.in + c.n),
        .bytes = 3 * 4 * tokens * (c.in + 2.0 * c.n),
        .forward = forward,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "bi%s fwd+bwd B%d T%d in%d n%d",
             c.gru ? "gru" : "lstm", c.B, c.T, c.in, c.n);
    if (!bench_wants(b, op.suite, op.name)) {
        return CLA_OK;
    }
    for (int back = 0; back < 2; back++) {
        op.inputs += describe_weights(op.in + op.inputs, &c);
    }
    CLA_TRY(bench_rows(b, &c.rows, c.B, c.T));
    const cla_status status = bench_op_run(b, &op);
    cla_ragged_free(&c.rows);
    return status;
}

/* A quick run has these cases only with --suite or --filter. */
cla_status bench_reader(bench *b)
{
    if (bench_quick(b) && !b->options->suite && !b->options->filter) {
        return CLA_OK;
    }
    for (int gru = 0; gru < 2; gru++) {
        CLA_TRY(run_layer(b, (reader_layer){ 32, 64, 256, 128, gru, NULL }));
        CLA_TRY(run_layer(b, (reader_layer){ 32, 300, 300, 150, gru, NULL }));
    }
    return CLA_OK;
}
