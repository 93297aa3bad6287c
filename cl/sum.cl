/* sum.cl - sums of all elements of a tensor, or of squares, in a fixed order; their
 * gradients.
 *
 * Layout: a, b, da, db flat arrays of n floats; partial [groups]; y, dy [1].
 * Work-group: sum_runs: as row.clh, with a run of elements for a row; sum_end: one
 *             group; sum_backward as elements.clh.
 * Defines: WG, a power of two; VEC, as row.clh; SUMMED: 0 a, 1 a^2, 2 (a - b)^2.
 * Numerics: f32 sums of a run by a tree, or in VEC lanes; of all runs by a tree.
 * Writes: partial, y whole; gradients are added to when add. */
#include "elements.clh"
#include "row.clh"

#ifndef SUMMED
#define SUMMED 0
#endif

/* What is summed, or squared, of element i; its term. */
#define ELEMENT(i) (SUMMED == 2 ? AT(a, i) - AT(b, i) : AT(a, i))
#define TERM(i)    (SUMMED ? ELEMENT(i) * ELEMENT(i) : ELEMENT(i))

// partial[group] = sum of the terms of the group's run; b is read for SUMMED 2
WORK_GROUP(WG, 1, 1)
kernel void sum_runs(global float *restrict partial, global const float *a,
                     global const float *b, int n, int run)
{
    ROW_SCRATCH(1);
    const size_t first = (size_t)GROUP(0) * run, last = min(first + run, (size_t)n);
    float sum;
    a += first;
    b = SUMMED == 2 ? b + first : b;
    ROW_SUM(sum, i, (int)(last - first), TERM(i));
    if (ROW_LANE == 0) {
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
    return SUMMED == 2 ? 2.0f * (a[i] - b[i]) : SUMMED ? 2.0f * a[i] : 1.0f;
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
