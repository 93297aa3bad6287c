/* clip.cl - scales tensors, and clips them by their norm.
 *
 * Layout: x flat; partial [groups]; left [3]: the factor of clipping,
 * the sum of all squares, what its rounding lost.
 * Work-group: clip_factor one group; clip_scale, clip_shorten as elements.clh.
 * Defines: WG, a power of two.
 * Numerics: clip_factor adds the sums of runs with their rounding errors.
 * Writes: left whole; x in place. */
#include "elements.clh"

// x *= factor
WORK_GROUP(WG, 1, 1)
kernel void clip_scale(global float *restrict x, int n, float factor)
{
    EACH_ELEMENT(i, n)
    {
        x[i] *= factor;
    }
}

// sum + rest += x; rest holds what the sums have rounded away
INLINE void add_exactly(float *sum, float *rest, float x)
{
    const float more = *sum + x, added = more - *sum;
    *rest += (*sum - (more - added)) + (x - added);
    *sum = more;
}

// left = (min(1, limit / norm), sum, rest), norm = (sum + rest)^1/2 of all partial; a
// norm that is not finite has factor 1
WORK_GROUP(WG, 1, 1)
kernel void clip_factor(global float *restrict left,
                        global const float *restrict partial, int runs, float limit)
{
    local float sums[WG], rests[WG];
    const int lid = LANE(0);
    float sum = 0.0f, rest = 0.0f;
    for (int i = lid; i < runs; i += WG) {
        add_exactly(&sum, &rest, partial[i]);
    }
    sums[lid] = sum;
    rests[lid] = rest;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid) {
        return;
    }
    for (int i = 1; i < WG; i++) {
        add_exactly(&sum, &rest, sums[i]);
        rest += rests[i];
    }
    rest = sum < INFINITY ? rest : 0.0f;
    const float norm = sqrt(sum + rest);
    left[0] = norm > limit && norm < INFINITY ? limit / norm : 1.0f;
    left[1] = sum;
    left[2] = rest;
}

// x *= left[0]
WORK_GROUP(WG, 1, 1)
kernel void clip_shorten(global float *restrict x, int n,
                         global const float *restrict left)
{
    const float factor = left[0];
    if (factor == 1.0f) {
        return;
    }
    EACH_ELEMENT(i, n)
    {
        x[i] *= factor;
    }
}
