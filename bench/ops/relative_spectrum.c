/* relative_spectrum.c - the table of a tagger: nothing beside its attention. */
#include "bench/bench.h"
#include "oracle/oracle.h"

enum { H = 4, T = 60 };

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_relative_spectrum(tape, y, x[0]);
}

static void oracle(double *y, double *const *x, void *context)
{
    (void)context;
    oracle_relative_spectrum(y, x[0], H, T);
}

cla_status bench_relative_spectrum(bench *b)
{
    const bench_op op = {
        .name = "relative_spectrum fwd+bwd H4 T60",
        .suite = "layers",
        .in = { { 2, { H, 2 * T } } },
        .inputs = 1,
        .backward = true,
        .forward = forward,
        .oracle = oracle,
    };
    return bench_op_run(b, &op);
}
