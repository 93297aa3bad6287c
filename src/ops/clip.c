/* clip.c - computes the norm of a gradient, scales it, and clips it by norm. */
#include <math.h>

#include "clattn/optim.h"
#include "ops/spread.h"

enum { SHORTEST_RUN = 4096, MOST_RUNS = 1024 };

static cla_status check(const char *who, const cla_tensor *x)
{
    return cla_check_f32(who, "x", x);
}

/* Queues partial[i] = sum of squares of the i-th run of x, of at most MOST_RUNS. */
static cla_status square_runs(cla_runtime *rt, const cla_memory *partial,
                              const cla_tensor *x, int64_t run)
{
    const bool tile = cla_tiled(rt);
    const cla_launch launch = {
        .file = tile ? "clip_tile" : "clip",
        .kernel = "clip_squares",
        .define = { { tile ? "VEC" : "WG", tile ? cla_vector_width(rt) : CLA_WG } },
        .groups = { (size_t)((cla_size(x) + run - 1) / run) },
        .local = { tile ? 1 : CLA_WG },
        .args = { cla_mem(partial), cla_buf(x), cla_i32(cla_size(x)), cla_i32(run) },
    };
    return cla_enqueue(rt, &launch);
}

cla_status cla_norm(cla_runtime *rt, double *norm, const cla_tensor *x)
{
    CLA_NEED(rt, norm, x);
    CLA_HOLD(rt);
    CLA_SAME(rt, x);
    *norm = 0;
    CLA_TRY(check("norm", x));
    const int64_t n = cla_size(x);
    const int64_t even = (n + MOST_RUNS - 1) / MOST_RUNS;
    const int64_t run = even < SHORTEST_RUN ? SHORTEST_RUN : even;
    const int64_t runs = (n + run - 1) / run; // 0 if x is empty
    float host[MOST_RUNS];
    cla_memory partial;
    CLA_TRY(cla_memory_new(&partial, rt, (size_t)runs * sizeof(float)));
    cla_status status = square_runs(rt, &partial, x, run);
    if (!status) {
        status = cla_memory_read(rt, &partial, 0, host, (size_t)runs * sizeof(float));
    }
    cla_memory_free(&partial, rt);
    CLA_TRY(status);
    double sum = 0;
    for (int64_t i = 0; i < runs; i++) {
        sum += (double)host[i];
    }
    *norm = sqrt(sum);
    return CLA_OK;
}

cla_status cla_scale(cla_runtime *rt, cla_tensor *x, float factor)
{
    CLA_NEED(rt, x);
    CLA_HOLD(rt);
    CLA_SAME(rt, x);
    CLA_TRY(check("scale", x));
    cla_launch launch = {
        .file = "clip",
        .kernel = "clip_scale",
        .args = { cla_buf(x), cla_i32(cla_size(x)), cla_f32(factor) },
    };
    cla_spread_elements(rt, &launch, cla_size(x));
    cla_tensor_changed(x);
    return cla_enqueue(rt, &launch);
}

cla_status cla_clip(cla_runtime *rt, double *norm, cla_tensor *g, float limit)
{
    CLA_NEED(rt, g);
    CLA_HOLD(rt);
    CLA_SAME(rt, g);
    double length = 0;
    if (!(limit > 0)) {
        return cla_fail(CLA_E_USAGE, "clip: limit is %g, must be above 0",
                        (double)limit);
    }
    CLA_TRY(cla_norm(rt, &length, g));
    if (norm) {
        *norm = length;
    }
    const bool longer = isfinite(length) && length > (double)limit;
    return longer ? cla_scale(rt, g, (float)((double)limit / length)) : CLA_OK;
}
