/* masked_softmax.c - softmax of attention maps, up to sizes beyond the last cache. */
#include <stdio.h>

#include "bench/bench.h"
#include "oracle/oracle.h"

typedef struct map_shape {
    int B, H, T, S;
} map_shape;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_masked_softmax(tape, y, x[0], NULL, NULL, false);
}

static void oracle(double *y, double *const *x, void *context)
{
    const map_shape *c = context;
    oracle_masked_softmax(y, x[0], c->B, c->H, c->T, c->S, NULL, NULL, false);
}

static cla_status run_shape(bench *b, map_shape c, bool backward)
{
    const double size = (double)c.B * c.H * c.T * c.S;
    bench_op op = {
        .suite = "softmax",
        .in = { { 4, { c.B, c.H, c.T, c.S } } },
        .inputs = 1,
        .backward = backward,
        .flops =
            backward ? 9 * size : 5 * size, // maximum, difference, exp, sum, scale; + 4
        .bytes = backward ? 20 * size : 8 * size,
        .forward = forward,
        .oracle = oracle,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "masked_softmax %s B%d H%d T%d S%d",
             backward ? "fwd+bwd" : "fwd", c.B, c.H, c.T, c.S);
    return bench_op_run(b, &op);
}

cla_status bench_masked_softmax(bench *b)
{
    static const map_shape shapes[] = { { 8, 8, 256, 256 },
                                        { 64, 8, 64, 64 },
                                        { 8, 8, 1024, 1024 } };
    const int count = bench_quick(b) ? 1 : (int)(sizeof shapes / sizeof *shapes);
    for (int i = 0; i < count; i++) {
        for (int backward = 0; backward < 2; backward++) {
            cla_status status = run_shape(b, shapes[i], backward);
            if (status) {
                return status;
            }
        }
    }
    return CLA_OK;
}
