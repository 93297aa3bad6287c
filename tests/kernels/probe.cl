/* probe.cl - the shared helpers, each behind a kernel of its own (tests only). */
#include "tile_rows.clh"
#include "vector_tanh.clh"

#ifndef WG
#define WG 64
#endif

WORK_GROUP(WG, 1, 1)
kernel void probe_philox(global uint *restrict y, global const float *restrict x)
{
    const uint i = (uint)(GROUP(0) * WG + LANE(0));
    const uint4 r = philox((uint4)(i, 7u, 9u, 11u), (uint2)(13u, 17u));
    const uint words[4] = { r.x, r.y, r.z, r.w };
    y[i] = x[i] == 0.0f ? words[i % 4] : 0u;
}

WORK_GROUP(WG, 1, 1)
kernel void probe_exp(global float *restrict y, global const float *restrict x)
{
    const int i = GROUP(0) * WG + LANE(0);
    y[i] = exp_fast(x[i]);
}

/* 4 VEC numbers at a time, by tanh_four and by tanh_v in turns. */
WORK_GROUP(WG, 1, 1)
kernel void probe_tanh(global float *restrict y, global const float *restrict x)
{
    const int i = GROUP(0) * WG + LANE(0);
    if (i % (4 * VEC) == 0) {
        floatv four[4];
        for (int u = 0; u < 4; u++) {
            four[u] = loadv((size_t)u, x + i);
        }
        tanh_four(four);
        for (int u = 0; u < 4; u++) {
            const floatv one = tanh_v(loadv((size_t)u, x + i));
            storev(i / (4 * VEC) % 2 ? one : four[u], (size_t)u, y + i);
        }
    }
}

WORK_GROUP(WG, 1, 1)
kernel void probe_exp_vector(global float *restrict y, global const float *restrict x)
{
    const int i = GROUP(0) * WG + LANE(0);
    if (i % VEC == 0) {
        storev(exp_fastv(loadv(0, x + i)), 0, y + i);
    }
}

WORK_GROUP(WG, 1, 1)
kernel void probe_exp2(global float *restrict y, global const float *restrict x)
{
    const int i = GROUP(0) * WG + LANE(0);
    if (i % VEC == 0) {
        storev(exp2_fastv(loadv(0, x + i)), 0, y + i);
    }
}

WORK_GROUP(WG, 1, 1)
kernel void probe_log(global float *restrict y, global const float *restrict x)
{
    const int i = GROUP(0) * WG + LANE(0);
    if (i % VEC == 0) {
        storev(log_fastv(loadv(0, x + i)), 0, y + i);
    }
}

WORK_GROUP(WG, 1, 1)
kernel void probe_sum(global float *restrict y, global const float *restrict x)
{
    local float scratch[WG];
    const int i = GROUP(0) * WG + LANE(0);
    y[i] = group_sum(x[i], scratch, LANE(0), WG);
}

WORK_GROUP(WG, 1, 1)
kernel void probe_max(global float *restrict y, global const float *restrict x)
{
    local float scratch[WG];
    const int i = GROUP(0) * WG + LANE(0);
    y[i] = group_max(x[i], scratch, LANE(0), WG);
}

WORK_GROUP(WG, 1, 1)
kernel void probe_lanes(global float *restrict y, global const float *restrict x)
{
    const int i = GROUP(0) * WG + LANE(0);
    if (i % VEC == 0) {
        const floatv v = loadv(0, x + i);
        y[i] = sum_lanes(v);
        y[i + 1] = max_lanes(v);
    }
}

/* Sums and maxima of four vectors from every four-vector run on. */
WORK_GROUP(WG, 1, 1)
kernel void probe_four(global float *restrict y, global const float *restrict x)
{
    const int i = GROUP(0) * WG + LANE(0);
    if (i % (4 * VEC) == 0) {
        const floatv a = loadv(0, x + i), b = loadv(1, x + i);
        const floatv c = loadv(2, x + i), d = loadv(3, x + i);
        vstore4(sum_four(a, b, c, d), 0, y + i);
        vstore4(max_four(a, b, c, d), 1, y + i);
    }
}

/* y[x,y,z] = its group's place, to see that a split launch covers every group once. */
WORK_GROUP(4, 1, 1)
kernel void probe_groups(global int *restrict y, int size_x, int size_y)
{
    const int item = GROUP(0) * 4 + LANE(0);
    const int at = (GROUP(2) * size_y + GROUP(1)) * size_x * 4 + item;
    y[at] += at;
}

/* Overruns its buffer on purpose. */
WORK_GROUP(1, 1, 1)
kernel void probe_overrun(global float *restrict y, int at)
{
    y[at] = 1.0f;
}
