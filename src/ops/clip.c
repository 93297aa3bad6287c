/* clip.c - computes the norm of a gradient, scales it, and clips it by norm. */
#include "ops/clip.h"

#include <math.h>

#include "clattn/optim.h"
#include "ops/spread.h"
#include "ops/sum.h"

static cla_status check(const char *who, const cla_tensor *x)
{
    return cla_check_f32(who, "x", x);
}

/* How many runs x has, and device memory for the sums of their squares. */
typedef struct runs {
    int64_t count;
    cla_memory partial;
} runs;

static cla_status sum_runs(runs *r, cla_runtime *rt, const cla_tensor *x)
{
    r->count = cla_runs_of(cla_size(x)).count;
    CLA_TRY(cla_memory_new(&r->partial, rt, (size_t)r->count * sizeof(float)));
    return cla_sum_runs(rt, &r->partial, CLA_SUMMED_SQUARES, x, NULL);
}

cla_status cla_norm(cla_runtime *rt, double *norm, const cla_tensor *x)
{
    CLA_NEED(rt, norm, x);
    CLA_HOLD(rt);
    CLA_SAME(rt, x);
    *norm = 0;
    CLA_TRY(check("norm", x));
    float host[CLA_MOST_RUNS];
    runs r = { .count = 0 };
    cla_status status = sum_runs(&r, rt, x);
    if (!status) {
        status =
            cla_memory_read(rt, &r.partial, 0, host, (size_t)r.count * sizeof(float));
    }
    cla_memory_free(&r.partial, rt);
    CLA_TRY(status);
    double sum = 0;
    for (int64_t i = 0; i < r.count; i++) {
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

/* Queues the sum of the runs and the factor that it leads to. */
static cla_status find_factor(cla_runtime *rt, const cla_memory *left, const runs *r,
                              float limit)
{
    const int wg = cla_tiled(rt) ? 1 : CLA_WG;
    const cla_launch launch = {
        .file = "clip",
        .kernel = "clip_factor",
        .define = { { "WG", wg } },
        .groups = { 1 },
        .local = { (size_t)wg },
        .args = { cla_mem(left), cla_mem(&r->partial), cla_i32(r->count),
                  cla_f32(limit) },
    };
    return cla_enqueue(rt, &launch);
}

double cla_clipping_norm(const cla_clipping *c)
{
    return sqrt((double)c->sum + (double)c->rest);
}

cla_status cla_clip_queue(cla_runtime *rt, const cla_memory *left, cla_tensor *g,
                          float limit)
{
    runs r = { .count = 0 };
    cla_status status = sum_runs(&r, rt, g);
    status = status ? status : find_factor(rt, left, &r, limit);
    cla_memory_free(&r.partial, rt);
    CLA_TRY(status);
    cla_launch launch = {
        .file = "clip",
        .kernel = "clip_shorten",
        .args = { cla_buf(g), cla_i32(cla_size(g)), cla_mem(left) },
    };
    cla_spread_elements(rt, &launch, cla_size(g));
    cla_tensor_changed(g);
    return cla_enqueue(rt, &launch);
}

cla_status cla_clip(cla_runtime *rt, double *norm, cla_tensor *g, float limit)
{
    CLA_NEED(rt, g);
    CLA_HOLD(rt);
    CLA_SAME(rt, g);
    if (!(limit > 0)) {
        return cla_fail(CLA_E_USAGE, "clip: limit is %g, must be above 0",
                        (double)limit);
    }
    CLA_TRY(check("clip", g));
    cla_clipping host = { 0 };
    cla_memory left;
    CLA_TRY(cla_memory_new(&left, rt, sizeof host));
    cla_status status = cla_clip_queue(rt, &left, g, limit);
    if (!status && norm) {
        status = cla_memory_read(rt, &left, 0, &host, sizeof host);
        *norm = cla_clipping_norm(&host);
    }
    cla_memory_free(&left, rt);
    return status;
}
