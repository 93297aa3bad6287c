/* ragged_cross_entropy.cl - cross entropy of pointers: the target of a sequence is one
 * of its rows.
 *
 * Layout: x, dx, logp [N]; offsets [B+1]; targets, lse, cost [B]; loss, weight [1].
 * Work-group: as row.clh, with a sequence for a row; in the mean one group in all.
 * Defines: WG, a power of two, and VEC, as row.clh.
 * Numerics: the sequence's maximum is subtracted; sums in f32, by a tree over items.
 * Writes: lse, cost, logp, loss, weight whole; dx whole (added to when add). */
#include "ragged_cross_entropy_args.h"
#include "row.clh"

INLINE bool is_counted(int target, int length)
{
    return target >= 0 && target < length;
}

/* lse = ln sum exp(x); logp = x - lse, if not null; cost = -logp[target], 0 if no
 * target counts. For given probabilities x, lse = 0 and logp = ln(x + least). */
WORK_GROUP(WG, 1, 1)
kernel void pointer_rows(global float *restrict lse, global float *restrict cost,
                         global float *logp, global const float *restrict x,
                         global const int *restrict targets,
                         global const int *restrict offsets, pointer_args g)
{
    ROW_SCRATCH(1);
    const int b = GROUP(0), first = offsets[b];
    const int length = offsets[b + 1] - first, target = targets[b];
    const int count = g.given ? 0 : length;
    x += first;
    const float top = ROW_MAX(x, count);
    float sum;
    ROW_SUM(sum, c, count, row_exp(AT(x, c) - top));
    const float all = g.given || length == 0 ? 0.0f : top + log(sum);
    if (logp && g.given) {
        ROW_PUT(logp + first, c, length, log(AT(x, c) + g.least), false);
    } else if (logp) {
        ROW_PUT(logp + first, c, length, AT(x, c) - all, false);
    }
    if (ROW_LANE == 0) {
        float z = 0.0f;
        if (is_counted(target, length)) {
            z = g.given ? -log(x[target] + g.least) : all - x[target];
        }
        lse[b] = all;
        cost[b] = z;
    }
}

// loss = mean of cost over counted sequences; weight = 1 / their number; 0 for none
WORK_GROUP(WG, 1, 1)
kernel void pointer_mean(global float *restrict loss, global float *restrict weight,
                         global const float *restrict cost,
                         global const int *restrict targets,
                         global const int *restrict offsets, pointer_args g)
{
    local float scratch[WG];
    const int lid = LANE(0);
    float sum = 0.0f, count = 0.0f;
    for (int b = lid; b < g.sequences; b += WG) {
        sum += cost[b];
        count += is_counted(targets[b], offsets[b + 1] - offsets[b]) ? 1.0f : 0.0f;
    }
    sum = group_sum(sum, scratch, lid, WG);
    count = group_sum(count, scratch, lid, WG);
    if (lid == 0) {
        weight[0] = count > 0.0f ? 1.0f / count : 0.0f;
        loss[0] = count > 0.0f ? sum / count : 0.0f;
    }
}

// dx (+)= (exp(x - lse) - [n = target]) weight dloss; for given probabilities
// -[n = target] / (x + least) weight dloss
WORK_GROUP(WG, 1, 1)
kernel void pointer_backward(global float *restrict dx, global const float *restrict x,
                             global const float *restrict lse,
                             global const int *restrict targets,
                             global const int *restrict offsets,
                             global const float *restrict weight,
                             global const float *restrict dloss, pointer_args g)
{
    const int b = GROUP(0), first = offsets[b];
    const int length = offsets[b + 1] - first, target = targets[b];
    const float f = is_counted(target, length) ? weight[0] * dloss[0] : 0.0f;
    dx += first;
    x += first;
    if (f != 0.0f && !g.given) {
        ROW_PUT(dx, c, length, f * row_exp(AT(x, c) - lse[b]), g.add);
    } else if (!g.add) {
        EACH_COLUMN(c, length, AT(dx, c) = 0.0f);
    }
    if (f != 0.0f && ROW_LANE == target % WG) { // the item whose column it is
        dx[target] -= f * (g.given ? 1.0f / (x[target] + g.least) : 1.0f);
    }
}
