/* sum.cl - sums of all elements of a tensor, or of squares, in a fixed order; their
 * gradients.
 *
 * Layout: a, b, da, db flat arrays of n floats; partial [groups]; y, dy [1].
 * Work-group: sum_runs: WG items, which share a run of elements; sum_end: one group;
 * sum_backward as elements.clh.
 * Defines: WG, a power of two; SUMMED as sum.clh.
 * Numerics: f32 sums of a run by a tree, and of all runs by another.
 * Writes: partial, y whole; gradients are added to when add. */
#include "elements.clh"
#include "sum.clh"

// partial[group] = sum of the terms of the group's run; b is read for SUMMED 2
WORK_GROUP(WG, 1, 1)
kernel void sum_runs(global float *restrict partial, global const float *a,
                     global const float *b, int n, int run)
{
    local float scratch[WG];
    const int lid = LANE(0);
    const size_t first = (size_t)GROUP(0) * run, last = min(first + run, (size_t)n);
    float sum = 0.0f;
    for (size_t i = first + lid; i < last; i += WG) {
        sum += term(a, b, i);
    }
    sum = group_sum(sum, scratch, lid, WG);
    if (lid == 0) {
        partial[GROUP(0)] = sum;
    }
}

// y = factor (sum of all partial)
WORK_GROUP(WG, 1, 1)
kernel void sum_end(global float *restrict y, global const float *restrict partial,
                    int runs, float factor)
{
    local float scratch[WG];
    const int lid = LANE(0);
    float sum = 0.0f;
    for (int i = lid; i < runs; i += WG) {
        sum += partial[i];
    }
    sum = group_sum(sum, scratch, lid, WG);
    if (lid == 0) {
        y[0] = factor * sum;
    }
}

/* Returns the slope of element i's term, to a. */
INLINE float slope(global const float *a, global const float *b, size_t i)
{
    return SUMMED ? 2.0f * element(a, b, i) : 1.0f;
}

/* da (+)= g, db (+)= -g, g = factor dy slope. Bits of adds: 1 adds to da, 2 to db.
 * Both may be null, or the same buffer: each has a loop of its own. */
WORK_GROUP(WG, 1, 1)
kernel void sum_backward(global float *da, global float *db,
                         global const float *restrict dy, global const float *a,
                         global const float *b, int n, float factor, int adds)
{
    const float scale = factor * dy[0];
    EACH_ELEMENT(i, da ? n : 0)
    {
        const float g = scale * slope(a, b, i);
        da[i] = adds & 1 ? da[i] + g : g;
    }
    EACH_ELEMENT(i, db ? n : 0)
    {
        const float g = scale * slope(a, b, i);
        db[i] = adds & 2 ? db[i] - g : -g;
    }
}
