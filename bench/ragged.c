/* ragged.c - times batches of real lengths: packed, and padded to the longest. */
#include <stdio.h>
#include <string.h>

#include "bench/internal.h"
#include "bench/treebank.h"

enum { BATCH = 64, HEADS = 8, WIDTH = 64, WINDOW = 11 };

typedef struct rows_context {
    cla_ragged *rows;
    bool band;
} rows_context;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const rows_context *c = context;
    return c->band
               ? cla_band_attention(tape, y, x[0], x[1], x[2], c->rows, WINDOW, NULL)
               : cla_attention(tape, y, x[0], x[1], x[2], c->rows, c->rows, NULL);
}

/* Returns the number of pairs of a query and a visible key: the work of any layout. */
static double pairs(const int *lengths, bool band)
{
    double sum = 0;
    for (int i = 0; i < BATCH; i++) {
        sum += (double)lengths[i] * (band && lengths[i] > WINDOW ? WINDOW : lengths[i]);
    }
    return sum;
}

/* Counts the work. Forward has two products for each pair, backward five more. Bytes
 * are q, k, v, o once, their gradients, and the tensors that backward reads again. */
static void count_work(bench_op *op, const int *lengths, bool band)
{
    double tokens = 0;
    for (int i = 0; i < BATCH; i++) {
        tokens += lengths[i];
    }
    const double one = tokens * HEADS * WIDTH * sizeof(float);
    op->flops = pairs(lengths, band) * HEADS * WIDTH * 2.0 * (op->backward ? 7 : 2);
    op->bytes = one * (op->backward ? 4 + 8 : 4);
}

static cla_status make_rows(bench *b, cla_ragged **rows, const int *lengths,
                            bool padded)
{
    int32_t offsets[BATCH + 1] = { 0 };
    int longest = 0;
    for (int i = 0; i < BATCH; i++) {
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    for (int i = 0; i < BATCH; i++) {
        offsets[i + 1] = offsets[i] + (padded ? longest : lengths[i]);
    }
    return cla_ragged_new(rows, bench_runtime(b), BATCH, offsets);
}

static cla_status run_layout(bench *b, bench_op *op, const int *lengths, bool padded)
{
    rows_context *context = op->context;
    if (!bench_wants(b, op->suite, op->name)) {
        return CLA_OK;
    }
    CLA_TRY(make_rows(b, &context->rows, lengths, padded));
    op->inputs = 3;
    for (int i = 0; i < 3; i++) {
        op->in[i] = (bench_input){
            .rank = 3, .shape = { cla_ragged_tokens(context->rows), HEADS, WIDTH }
        };
    }
    const cla_status status = bench_op_run(b, op);
    cla_ragged_free(&context->rows);
    return status;
}

/* Times both layouts of an op on one set of lengths, and prints the gain of packing. */
static cla_status run_pair(bench *b, const char *set, const int *lengths, bool band,
                           bool backward)
{
    double ms[2] = { 0 };
    for (int padded = 0; padded < 2; padded++) {
        rows_context context = { .band = band };
        bench_op op = { .suite = "ragged",
                        .backward = backward,
                        .forward = forward,
                        .context = &context };
        count_work(&op, lengths, band);
        char window[16] = "";
        if (band) {
            snprintf(window, sizeof window, " w%d", WINDOW);
        }
        snprintf(op.name, sizeof op.name, "%s %s %s %s B%d H%d d%d%s",
                 band ? "band_attention" : "attention", backward ? "fwd+bwd" : "fwd",
                 set, padded ? "padded" : "packed", BATCH, HEADS, WIDTH, window);
        CLA_TRY(run_layout(b, &op, lengths, padded));
        ms[padded] = bench_median(b, op.name);
    }
    if (ms[0] > 0 && ms[1] > 0) {
        bench_note(b, "packed is %.2fx padded (goal 1.5x)", ms[1] / ms[0]);
    }
    return CLA_OK;
}

static cla_status run_set(bench *b, const char *set, const int *lengths)
{
    for (int backward = 0; backward < (bench_quick(b) ? 1 : 2); backward++) {
        CLA_TRY(run_pair(b, set, lengths, false, backward));
        CLA_TRY(run_pair(b, set, lengths, true, backward));
    }
    return CLA_OK;
}

cla_status bench_ragged(bench *b)
{
    int lengths[BATCH];
    if (bench_treebank_lengths(lengths, BATCH)) {
        bench_note(b, "fr_spoken left out: %s", cla_error());
    } else {
        CLA_TRY(run_set(b, "fr_spoken", lengths));
    }
    if (bench_quick(b)) {
        return CLA_OK;
    }
    for (int i = 0; i < BATCH; i++) {
        lengths[i] = 10 + (i * 37 % BATCH) * 90 / (BATCH - 1); // 10..100, unsorted
    }
    return run_set(b, "uniform", lengths);
}
