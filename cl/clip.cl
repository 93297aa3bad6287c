/* clip.cl - sums of squares for the norm of a tensor, its scaling and clipping.
 *
 * Layout: x flat; partial [groups]; left [3]: the factor of clipping,
 * the sum of all squares, what its rounding lost.
 * Work-group: WG items, which share a run of elements; clip_factor one group;
 * clip_scale, clip_shorten as elements.clh.
 * Defines: WG, a power of two.
 * Numerics: f32 sums of a run by a tree; the host adds the runs in double, clip_factor
 * adds them with their rounding errors.
 * Writes: partial, left whole; x in place. */
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
