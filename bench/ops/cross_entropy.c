/* cross_entropy.c - the loss of a tagger and of a translator. */
#include <stdio.h>

#include "base/base.h"
#include "bench/bench.h"
#include "oracle/oracle.h"

typedef struct batch {
    int N, V;
    int32_t *targets;
    cla_tensor *device_targets;
} batch;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const batch *c = context;
    return cla_cross_entropy(tape, y, x[0], c->device_targets, 0.1f);
}

static void oracle(double *y, double *const *x, void *context)
{
    const batch *c = context;
    y[0] = oracle_cross_entropy(x[0], c->targets, c->N, c->V, (double)0.1f, NULL);
}

static cla_status make_targets(bench *b, batch *c)
{
    const int64_t shape[1] = { c->N };
    CLA_TRY(cla_alloc(&c->targets, (size_t)c->N, sizeof *c->targets));
    for (int n = 0; n < c->N; n++) {
        c->targets[n] = n % c->V;
    }
    CLA_TRY(cla_tensor_new(&c->device_targets, bench_runtime(b), CLA_I32, 1, shape));
    return cla_tensor_upload(c->device_targets, c->targets);
}

static cla_status run_shape(bench *b, batch c)
{
    bench_op op = {
        .suite = "layers",
        .in = { { 2, { c.N, c.V } } },
        .inputs = 1,
        .backward = true,
        .flops = 9.0 * c.N * c.V,
        .bytes = 3.0 * 4 * c.N * c.V,
        .forward = forward,
        .oracle = oracle,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "cross_entropy fwd+bwd N%d V%d", c.N, c.V);
    cla_status status = make_targets(b, &c);
    status = status ? status : bench_op_run(b, &op);
    cla_tensor_free(&c.device_targets);
    free(c.targets);
    return status;
}

cla_status bench_cross_entropy(bench *b)
{
    CLA_TRY(run_shape(b, (batch){ .N = 1920, .V = 19 }));
    return bench_quick(b) ? CLA_OK : run_shape(b, (batch){ .N = 1536, .V = 8000 });
}
