/* clip_tile.cl - sums of squares for the norm of a tensor, for CPU devices.
 *
 * Layout: x flat; partial [groups].
 * Work-group: 1 item, a run of elements each.
 * Defines: VEC, the native width.
 * Numerics: f32 sums of a run in VEC lanes; the host adds the runs in double.
 * Writes: partial whole. */
#include "vector.clh"

// partial[group] = sum of x^2 over the group's run
WORK_GROUP(1, 1, 1)
kernel void clip_squares(global float *restrict partial, global const float *restrict x,
                         int n, int run)
{
    const size_t first = (size_t)GROUP(0) * run, last = min(first + run, (size_t)n);
    floatv sum = (floatv)(0.0f);
    size_t i = first;
    for (; i + VEC <= last; i += VEC) {
        const floatv z = loadv(0, x + i);
        sum += z * z;
    }
    float total = sum_lanes(sum);
    for (; i < last; i++) {
        total += x[i] * x[i];
    }
    partial[GROUP(0)] = total;
}
