/* layer_norm.c - rows of a Transformer. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "oracle/oracle.h"

enum { N = 2048, D = 512 };

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_layer_norm(tape, y, x[0], x[1], x[2], 1e-6f);
}

static void oracle(double *y, double *const *x, void *context)
{
    (void)context;
    oracle_layer_norm(y, x[0], x[1], x[2], N, D, 1e-6);
}

cla_status bench_layer_norm(bench *b)
{
    for (int backward = 0; backward < 2; backward++) {
        bench_op op = {
            .suite = "layers",
            .in = { { 2, { N, D } }, { 1, { D } }, { 1, { D } } },
            .inputs = 3,
            .backward = backward,
            .bytes = (backward ? 5.0 : 2.0) * 4 * N * D,
            .forward = forward,
            .oracle = oracle,
        };
        snprintf(op.name, sizeof op.name, "layer_norm %s N%d D%d",
                 backward ? "fwd+bwd" : "fwd", N, D);
        CLA_TRY(bench_op_run(b, &op));
    }
    return CLA_OK;
}
