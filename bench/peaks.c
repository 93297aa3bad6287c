/* peaks.c - measures a device's copy bandwidth and floating-point rate. */
#include "bench/peaks.h"

#include <math.h>

#include "base/base.h"
#include "runtime/runtime.h"

/* Beyond the last cache of any known device: server processors have up to 384 MiB. */
static const size_t COPY_BYTES = 512u << 20, SIMULATOR_COPY_BYTES = 1u << 20;
enum { CHAINS = 12, ROUNDS = 64 };

/* The work-group size and vector width of the kernels: wide vectors for CPUs, wide
 * groups for other devices. */
typedef struct shape {
    int wg, vec;
} shape;

static shape device_shape(cla_runtime *rt)
{
    const cla_device *device = cla_runtime_device(rt);
    if (cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE) {
        return (shape){ 1, device->vector_width >= 16 ? 16 : 8 };
    }
    return (shape){ 128, 4 };
}

static cla_status time_launch(cla_runtime *rt, const cla_launch *launch, double *ms)
{
    const int64_t begin = cla_time_ns();
    CLA_TRY(cla_enqueue(rt, launch));
    CLA_TRY(cla_runtime_finish(rt));
    *ms = (double)(cla_time_ns() - begin) * 1e-6;
    return CLA_OK;
}

/* Measures the fastest of several launches, without the first, which compiles. */
static cla_status best_launch(cla_runtime *rt, const cla_launch *launch, int times,
                              double *ms)
{
    double once = 0;
    CLA_TRY(time_launch(rt, launch, &once));
    *ms = INFINITY;
    for (int i = 0; i < times; i++) {
        CLA_TRY(time_launch(rt, launch, &once));
        *ms = fmin(*ms, once);
    }
    return CLA_OK;
}

/* Times the driver's own copy, which may use stores that no kernel can, and lowers *ms
 * to the fastest. */
static cla_status best_driver_copy(cla_runtime *rt, const cla_memory *to,
                                   const cla_memory *from, int times, double *ms)
{
    for (int i = 0; i < times; i++) {
        const int64_t begin = cla_time_ns();
        CLA_TRY(cla_memory_copy(rt, to, 0, from, 0, to->bytes));
        CLA_TRY(cla_runtime_finish(rt));
        *ms = fmin(*ms, (double)(cla_time_ns() - begin) * 1e-6);
    }
    return CLA_OK;
}

static cla_status copy_between(cla_runtime *rt, cla_memory *to, cla_memory *from,
                               int times, double *gbs)
{
    const shape s = device_shape(rt);
    const size_t group_bytes = sizeof(float) * ROUNDS * (size_t)(s.wg * s.vec);
    CLA_TRY(cla_memory_fill(rt, from, 0));
    CLA_TRY(cla_memory_fill(rt, to, 0));
    const cla_launch launch = {
        .file = "peaks",
        .kernel = "peaks_copy",
        .define = { { "WG", s.wg }, { "VEC", s.vec }, { "ROUNDS", ROUNDS } },
        .groups = { to->bytes / group_bytes },
        .local = { (size_t)s.wg },
        .args = { cla_mem(to), cla_mem(from) },
    };
    double ms = 0;
    CLA_TRY(best_launch(rt, &launch, times, &ms));
    CLA_TRY(best_driver_copy(rt, to, from, times, &ms));
    *gbs = 2.0 * (double)to->bytes / (ms * 1e6);
    return CLA_OK;
}

static cla_status measure_copy(cla_runtime *rt, int times, double *gbs)
{
    const cla_device *device = cla_runtime_device(rt);
    const bool simulated = device->kind == CLA_DEVICE_SOFTWARE;
    size_t bytes = simulated ? SIMULATOR_COPY_BYTES : COPY_BYTES;
    while (bytes > device->max_buffer_bytes || bytes > device->memory_bytes / 8) {
        bytes /= 2;
    }
    cla_memory to = { 0 }, from = { 0 };
    cla_status status = cla_memory_new(&to, rt, bytes);
    status = status ? status : cla_memory_new(&from, rt, bytes);
    status = status ? status : copy_between(rt, &to, &from, times, gbs);
    cla_memory_free(&to, rt);
    cla_memory_free(&from, rt);
    return status;
}

static cla_status multiply(cla_runtime *rt, const cla_memory *out, size_t groups,
                           int times, double *gflops)
{
    const shape s = device_shape(rt);
    const bool simulated = cla_runtime_device(rt)->kind == CLA_DEVICE_SOFTWARE;
    const int rounds = simulated ? 16 : s.wg == 1 ? 16384 : 2048;
    const double flops = 2.0 * CHAINS * rounds * s.vec * s.wg * (double)groups;
    const cla_launch launch = {
        .file = "peaks",
        .kernel = "peaks_fma",
        .define = { { "WG", s.wg }, { "VEC", s.vec }, { "ROUNDS", ROUNDS } },
        .groups = { groups },
        .local = { (size_t)s.wg },
        .args = { cla_mem(out), cla_f32(0.5f), cla_f32(1.0f), cla_i32(rounds) },
        .flops = flops,
    };
    double ms = 0;
    CLA_TRY(best_launch(rt, &launch, times, &ms));
    *gflops = flops / (ms * 1e6);
    return CLA_OK;
}

static cla_status measure_fma(cla_runtime *rt, int times, double *gflops)
{
    const shape s = device_shape(rt);
    const int units = cla_runtime_device(rt)->compute_units;
    const size_t groups = (size_t)(units > 0 ? units : 1) * 64;
    cla_memory out = { 0 };
    CLA_TRY(cla_memory_new(&out, rt, groups * sizeof(float) * (size_t)(s.wg * s.vec)));
    const cla_status status = multiply(rt, &out, groups, times, gflops);
    cla_memory_free(&out, rt);
    return status;
}

cla_status bench_peaks_measure(bench_peaks *peaks, cla_runtime *rt, bool quick)
{
    const int times = quick ? 3 : 7;
    CLA_TRY(measure_copy(rt, times, &peaks->gbs));
    return measure_fma(rt, 3 * times, &peaks->gflops);
}

double bench_peaks_share(const bench_peaks *peaks, double flops, double bytes,
                         double ms)
{
    const double by_flops = peaks->gflops > 0 ? flops / (ms * 1e6) / peaks->gflops : 0;
    const double by_bytes = peaks->gbs > 0 ? bytes / (ms * 1e6) / peaks->gbs : 0;
    return 100.0 * fmax(by_flops, by_bytes);
}
