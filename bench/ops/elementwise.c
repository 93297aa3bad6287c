/* elementwise.c - the small operators around a layer: all bandwidth. */
#include <stdio.h>

#include "bench/bench.h"
#include "oracle/oracle.h"

enum { N = 1920, HEADS = 4, WIDTH = 48, LEFT = 128, RIGHT = 64 };

static cla_status add(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_add(tape, y, x[0], x[1]);
}

static cla_status concat(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_concat(tape, y, x[0], x[1]);
}

static cla_status heads(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_scale_heads(tape, y, x[0], x[1]);
}

static void heads_by_oracle(double *y, double *const *x, void *context)
{
    (void)context;
    oracle_scale_heads(y, x[0], x[1], N, HEADS, WIDTH);
}

static void concat_by_oracle(double *y, double *const *x, void *context)
{
    (void)context;
    oracle_concat(y, x[0], x[1], N, LEFT, RIGHT);
}

/* Bytes: forward reads and writes each element once; backward again, by its parts. */
cla_status bench_elementwise(bench *b)
{
    enum { D = LEFT + RIGHT };
    const bench_op ops[] = {
        { .name = "add fwd+bwd N1920 D192",
          .in = { { 2, { N, D } }, { 2, { N, D } } },
          .inputs = 2,
          .bytes = 7.0 * 4 * N * D,
          .forward = add },
        { .name = "concat fwd+bwd N1920 128+64",
          .in = { { 2, { N, LEFT } }, { 2, { N, RIGHT } } },
          .inputs = 2,
          .bytes = 4.0 * 4 * N * D,
          .forward = concat,
          .oracle = concat_by_oracle },
        { .name = "scale_heads fwd+bwd N1920 H4 d48",
          .in = { { 3, { N, HEADS, WIDTH } }, { 1, { HEADS } } },
          .inputs = 2,
          .bytes = 5.0 * 4 * N * D,
          .forward = heads,
          .oracle = heads_by_oracle },
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        bench_op op = ops[i];
        op.suite = "layers";
        op.backward = true;
        const cla_status status = bench_op_run(b, &op);
        if (status) {
            return status;
        }
    }
    return CLA_OK;
}
