/* position_attention.c - times a layer of the tagger with positions in its scores: on
 * sequences padded to the tables' length, and on sentences of real lengths. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "bench/internal.h"
#include "bench/treebank.h"
#include "oracle/oracle.h"

enum { B = 32, H = 4, LENGTH = 60, WIDTH = 48 };

typedef struct layer {
    bool absolute, relative;
    int32_t offsets[B + 1];
    cla_ragged *rows;
} layer;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const layer *c = context;
    return cla_position_attention(tape, y, x[0], x[1], x[2], c->absolute ? x[3] : NULL,
                                  c->relative ? x[3 + c->absolute] : NULL, c->rows,
                                  NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const layer *c = context;
    const oracle_attention_shape s = {
        .B = B,
        .H = H,
        .d = WIDTH,
        .q_offsets = c->offsets,
        .k_offsets = c->offsets,
        .absolute = c->absolute ? x[3] : NULL,
        .relative = c->relative ? x[3 + c->absolute] : NULL,
        .t = LENGTH,
    };
    oracle_position_attention(y, NULL, x[0], x[1], x[2], &s);
}

static cla_status run_shape(bench *b, layer *c, const char *set, bool backward)
{
    const int64_t N = cla_ragged_tokens(c->rows);
    const bench_input tokens = { 3, { N, H, WIDTH }, .scale = 1 };
    double pairs = 0;
    for (int i = 0; i < B; i++) {
        const double T = c->offsets[i + 1] - c->offsets[i];
        pairs += T * T;
    }
    bench_op op = {
        .suite = "attention",
        .in = { tokens, tokens, tokens },
        .inputs = 3,
        .backward = backward,
        .flops = pairs * H * WIDTH * 2.0 * (backward ? 7 : 2),
        .bytes = (backward ? 12.0 : 4.0) * 4 * (double)N * H * WIDTH,
        .forward = forward,
        .oracle = oracle,
        .context = c,
    };
    if (c->absolute) {
        op.in[op.inputs++] = (bench_input){ 3, { H, LENGTH, LENGTH }, .scale = 1 };
    }
    if (c->relative) {
        op.in[op.inputs++] = (bench_input){ 2, { H, 2 * (int64_t)LENGTH }, .scale = 1 };
    }
    snprintf(op.name, sizeof op.name, "position_attention %s %s %s%s B%d H%d t%d d%d",
             backward ? "fwd+bwd" : "fwd", set, c->absolute ? "P" : "",
             c->relative ? "R" : "", B, H, LENGTH, WIDTH);
    return bench_op_run(b, &op);
}

/* Times the tables P, R and both on sentences of these lengths. */
static cla_status run_set(bench *b, const char *set, const int *lengths)
{
    layer c = { .absolute = false };
    for (int i = 0; i < B; i++) {
        const int T = lengths[i] < LENGTH ? lengths[i] : LENGTH; // as the tagger cuts
        c.offsets[i + 1] = c.offsets[i] + T;
    }
    CLA_TRY(cla_ragged_new(&c.rows, bench_runtime(b), B, c.offsets));
    cla_status status = CLA_OK;
    for (int n = 0; n < (bench_quick(b) ? 2 : 6) && !status; n++) {
        c.absolute = n / 2 != 1;
        c.relative = n / 2 != 0;
        status = run_shape(b, &c, set, n % 2);
    }
    cla_ragged_free(&c.rows);
    return status;
}

cla_status bench_position_attention(bench *b)
{
    int lengths[B];
    for (int i = 0; i < B; i++) {
        lengths[i] = LENGTH;
    }
    CLA_TRY(run_set(b, "padded", lengths));
    if (bench_treebank_lengths(lengths, B)) {
        bench_note(b, "fr_spoken left out: %s", cla_error());
        return CLA_OK;
    }
    return run_set(b, "fr_spoken", lengths);
}
