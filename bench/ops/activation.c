/* activation.c - the feed-forward activations that are passes of their own. */
#include "base/base.h"
#include "bench/bench.h"
#include "clattn/feed.h"
#include "oracle/oracle.h"

enum { N = 2048, D = 2048 };

static cla_status gelu(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_gelu(tape, y, x[0]);
}

static cla_status silu(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    (void)context;
    return cla_silu(tape, y, x[0]);
}

static void gelu_by_oracle(double *y, double *const *x, void *context)
{
    (void)context;
    oracle_gelu(y, x[0], (int64_t)N * D);
}

static void silu_by_oracle(double *y, double *const *x, void *context)
{
    (void)context;
    oracle_silu(y, x[0], (int64_t)N * D);
}

/* Bytes: forward reads and writes each element once, backward reads two and writes one.
 */
cla_status bench_activation(bench *b)
{
    const bench_op ops[] = {
        { .name = "gelu fwd+bwd N2048 D2048",
          .forward = gelu,
          .oracle = gelu_by_oracle },
        { .name = "silu fwd+bwd N2048 D2048",
          .forward = silu,
          .oracle = silu_by_oracle },
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        bench_op op = ops[i];
        op.suite = "layers";
        op.in[0].rank = 2;
        op.in[0].shape[0] = N;
        op.in[0].shape[1] = D;
        op.inputs = 1;
        op.backward = true;
        op.bytes = 5.0 * 4 * N * D;
        CLA_TRY(bench_op_run(b, &op));
    }
    return CLA_OK;
}
