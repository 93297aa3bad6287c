/* depthwise_conv1d.c - a convolution before the attention of a translator's layer. */
#include "base/base.h"
#include "bench/bench.h"
#include "oracle/oracle.h"

enum { SENTENCES = 64, LENGTH = 32, TAPS = 7, D = 256 };

typedef struct batch {
    cla_ragged *rows;
    int32_t offsets[SENTENCES + 1];
} batch;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const batch *c = context;
    return cla_depthwise_conv1d(tape, y, x[0], x[1], c->rows);
}

static void oracle(double *y, double *const *x, void *context)
{
    const batch *c = context;
    oracle_depthwise_conv1d(y, x[0], x[1], SENTENCES, c->offsets, TAPS, D);
}

cla_status bench_depthwise_conv1d(bench *b)
{
    const double size = (double)SENTENCES * LENGTH * D;
    batch c = { 0 };
    bench_op op = {
        .suite = "layers",
        .name = "depthwise_conv1d fwd+bwd B64 T32 D256 k7",
        .in = { { 2, { SENTENCES * LENGTH, D } }, { 2, { TAPS, D } } },
        .inputs = 2,
        .backward = true,
        .flops = 6.0 * size * TAPS,
        .bytes = 6.0 * 4 * size,
        .forward = forward,
        .oracle = oracle,
        .context = &c,
    };
    for (int i = 0; i <= SENTENCES; i++) {
        c.offsets[i] = i * LENGTH;
    }
    CLA_TRY(bench_rows(b, &c.rows, SENTENCES, LENGTH));
    const cla_status status = bench_op_run(b, &op);
    cla_ragged_free(&c.rows);
    return status;
}
