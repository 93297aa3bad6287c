/* dropout.c - random numbers beside the bandwidth they hide behind. */
#include "bench/bench.h"
#include "oracle/oracle.h"

enum { N = 1920, D = 192 };

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    cla_tape_random(tape, 42, 0);
    return cla_dropout(tape, y, x[0], 0.1f);
}

static void oracle(double *y, double *const *x, void *context)
{
    (void)context;
    oracle_dropout(y, x[0], N, D, 0.1f, 42, 0, 0);
}

cla_status bench_dropout(bench *b)
{
    const bench_op op = {
        .name = "dropout fwd+bwd N1920 D192",
        .suite = "layers",
        .in = { { 2, { N, D } } },
        .inputs = 1,
        .backward = true,
        .bytes = 4.0 * 4 * N * D,
        .forward = forward,
        .oracle = oracle,
    };
    return bench_op_run(b, &op);
}
