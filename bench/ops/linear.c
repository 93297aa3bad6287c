/* linear.c - the linear layer with its tail, its weights packed once. */
#include <stdio.h>

#include "base/base.h"
#include "bench.h"
#include "oracle/oracle.h"

typedef struct layer_shape {
    int N, in, out;
    cla_activation activation;
    bool residual;
} layer_shape;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const layer_shape *c = context;
    return cla_linear(tape, y, x[0], x[1], x[2], c->activation,
                      c->residual ? x[3] : NULL);
}

static void oracle(double *y, double *const *x, void *context)
{
    const layer_shape *c = context;
    oracle_linear(y, x[0], x[1], x[2], c->residual ? x[3] : NULL, c->N, c->in, c->out,
                  (int)c->activation);
}

static cla_status run_shape(bench *b, layer_shape c, bool backward)
{
    const double products = (backward ? 3.0 : 1.0) * 2 * c.N * c.in * c.out;
    bench_op op = {
        .suite = "gemm",
        .in = { { 2, { c.N, c.in }, 1, false },
                { 2, { c.in, c.out }, 0.05F, false },
                { 1, { c.out }, 1, false },
                { 2, { c.N, c.out }, 1, false } },
        .inputs = c.residual ? 4 : 3,
        .backward = backward,
        .flops = products,
        .bytes = 4.0 * ((double)c.N * (c.in + c.out) + (double)c.in * c.out),
        .forward = forward,
        .oracle = oracle,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "linear %s N%d in%d out%d%s%s",
             backward ? "fwd+bwd" : "fwd", c.N, c.in, c.out,
             c.activation == CLA_RELU ? " relu" : "", c.residual ? " residual" : "");
    return bench_op_run(b, &op);
}

cla_status bench_linear(bench *b)
{
    static const layer_shape shapes[] = {
        { 1, 512, 512, CLA_NONE, false },     { 1536, 256, 1024, CLA_RELU, false },
        { 64, 256, 8000, CLA_NONE, false },   { 2048, 512, 512, CLA_NONE, true },
        { 2048, 512, 2048, CLA_RELU, false }, { 2048, 2048, 512, CLA_NONE, true },
    };
    const int count = bench_quick(b) ? 2 : (int)(sizeof shapes / sizeof *shapes);
    for (int i = 0; i < count; i++) {
        for (int backward = 0; backward < 2; backward++) {
            CLA_TRY(run_shape(b, shapes[i], backward));
        }
    }
    return CLA_OK;
}
