/* sum_tile.cl - sums of runs of elements, for CPU devices.
 *
 * Layout: a, b flat arrays of n floats; partial [groups].
 * Work-group: 1 item, a run of elements each.
 * Defines: VEC, the native width; SUMMED as sum.clh.
 * Numerics: f32 sums of a run in VEC lanes.
 * Writes: partial whole. */
#include "sum.clh"
#include "vector.clh"

// partial[group] = sum of the terms of the group's run; b is read for SUMMED 2
WORK_GROUP(1, 1, 1)
kernel void sum_runs(global float *restrict partial, global const float *a,
                     global const float *b, int n, int run)
{
    const size_t first = (size_t)GROUP(0) * run, last = min(first + run, (size_t)n);
    floatv sum = (floatv)(0.0f);
    size_t i = first;
    for (; i + VEC <= last; i += VEC) {
        const floatv x = loadv(0, a + i);
        const floatv z = SUMMED == 2 ? x - loadv(0, b + i) : x;
        sum += SUMMED ? z * z : z;
    }
    float total = sum_lanes(sum);
    for (; i < last; i++) {
        total += term(a, b, i);
    }
    partial[GROUP(0)] = total;
}
