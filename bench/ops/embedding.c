/* embedding.c - look-ups of words and of characters, with the table's gradient. */
#include <stdio.h>

#include "base/base.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "oracle/oracle.h"

typedef struct lookup {
    int N, D, V;
    int32_t *ids;
    cla_tensor *device_ids;
} lookup;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const lookup *c = context;
    return cla_embedding(tape, y, x[0], c->device_ids, 1);
}

static void oracle(double *y, double *const *x, void *context)
{
    const lookup *c = context;
    oracle_embedding(y, x[0], c->ids, c->N, c->D, c->V, 1);
}

/* Half of all ids are 0, the others spread evenly: padding beside words. */
static cla_status make_ids(bench *b, lookup *c)
{
    const int64_t shape[1] = { c->N };
    CLA_TRY(cla_alloc(&c->ids, (size_t)c->N, sizeof *c->ids));
    for (int n = 0; n < c->N; n++) {
        const uint32_t counter[4] = { (uint32_t)n }, key[2] = { 42 };
        const cla_philox r = cla_philox4x32(counter, key);
        c->ids[n] = r.v[0] % 2 ? 0 : (int32_t)(r.v[1] % (uint32_t)c->V);
    }
    CLA_TRY(cla_tensor_new(&c->device_ids, bench_runtime(b), CLA_I32, 1, shape));
    return cla_tensor_upload(c->device_ids, c->ids);
}

static cla_status run_shape(bench *b, lookup c)
{
    bench_op op = {
        .suite = "layers",
        .in = { { 2, { c.V, c.D } } },
        .inputs = 1,
        .backward = true,
        .bytes = 4.0 * c.D * (4.0 * c.N + c.V), // the gradient of the table is cleared
        .forward = forward,
        .oracle = oracle,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "embedding fwd+bwd N%d D%d V%d", c.N, c.D, c.V);
    cla_status status = make_ids(b, &c);
    status = status ? status : bench_op_run(b, &op);
    cla_tensor_free(&c.device_ids);
    free(c.ids);
    return status;
}

cla_status bench_embedding(bench *b)
{
    static const lookup shapes[] = {
        { .N = 1920, .D = 128, .V = 8000 },
        { .N = 8000, .D = 64, .V = 120 },
        { .N = 2048, .D = 512, .V = 32000 },
    };
    const int count = bench_quick(b) ? 2 : 3;
    for (int i = 0; i < count; i++) {
        CLA_TRY(run_shape(b, shapes[i]));
    }
    return CLA_OK;
}
