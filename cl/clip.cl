/* clip.cl - sums of squares for the norm of a tensor, and its scaling.
 *
 * Layout: x flat; partial [groups].
 * Work-group: WG items, which share a run of elements; clip_scale as elements.clh.
 * Defines: WG, a power of two.
 * Numerics: f32 sums of a run by a tree; the host adds the runs in double.
 * Writes: partial whole; x in place. */
#include "elements.clh"

// partial[group] = sum of x^2 over the group's run
WORK_GROUP(WG, 1, 1)
kernel void clip_squares(global float *restrict partial, global const float *restrict x,
                         int n, int run)
{
    local float scratch[WG];
    const int lid = LANE(0);
    const size_t first = (size_t)GROUP(0) * run, last = min(first + run, (size_t)n);
    float sum = 0.0f;
    for (size_t i = first + lid; i < last; i += WG) {
        sum += x[i] * x[i];
    }
    sum = group_sum(sum, scratch, lid, WG);
    if (lid == 0) {
        partial[GROUP(0)] = sum;
    }
}

// x *= factor
WORK_GROUP(WG, 1, 1)
kernel void clip_scale(global float *restrict x, int n, float factor)
{
    EACH_ELEMENT(i, n)
    {
        x[i] *= factor;
    }
}
