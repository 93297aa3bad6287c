/* cross_entropy.cl - log-softmax and loss in one, without a matrix of probabilities.
 *
 * Layout: x, dx [N,V]; targets, factor (NULL: ones) [N]; lse, cost [N]; loss [1];
 * weight [1].
 * Work-group: WG items for each row; cross_entropy_mean: one group in all.
 * Defines: WG, a power of two.
 * Numerics: the row's maximum is subtracted; sums in f32 by a tree.
 * Writes: lse, cost, loss, weight whole; dx whole (added to when add). */
#include "cross_entropy.clh"

#ifndef WG
#define WG 64
#endif

// lse = top + ln sum exp(x - top); cost = factor (lse - <q, x>), 0 if the target is not
// counted
WORK_GROUP(WG, 1, 1)
kernel void cross_entropy_rows(global float *restrict lse, global float *restrict cost,
                               global const float *restrict x,
                               global const int *restrict targets,
                               global const float *restrict factor, entropy_shape s)
{
    local float scratch[WG];
    const int lid = LANE(0), row = GROUP(0);
    x += (size_t)row * s.columns;
    float top = SCORE_MIN;
    for (int c = lid; c < s.columns; c += WG) {
        top = fmax(top, x[c]);
    }
    top = group_max(top, scratch, lid, WG);
    float sum = 0.0f, total = 0.0f;
    for (int c = lid; c < s.columns; c += WG) {
        sum += exp(x[c] - top);
        total += x[c] - top;
    }
    sum = group_sum(sum, scratch, lid, WG);
    total = group_sum(total, scratch, lid, WG);
    if (lid == 0) {
        const int target = targets[row];
        lse[row] = top + log(sum);
        cost[row] = is_counted(target, s)
                        ? row_cost(log(sum), total, x[target] - top, s) *
                              row_factor(factor, row)
                        : 0.0f;
    }
}

// loss = mean of cost over counted rows; weight = 1 / their number; 0 when there are
// none
WORK_GROUP(WG, 1, 1)
kernel void cross_entropy_mean(global float *restrict loss,
                               global float *restrict weight,
                               global const float *restrict cost,
                               global const int *restrict targets, entropy_shape s)
{
    local float scratch[WG];
    const int lid = LANE(0);
    float sum = 0.0f, count = 0.0f;
    for (int row = lid; row < s.rows; row += WG) {
        sum += cost[row];
        count += is_counted(targets[row], s) ? 1.0f : 0.0f;
    }
    sum = group_sum(sum, scratch, lid, WG);
    count = group_sum(count, scratch, lid, WG);
    if (lid == 0) {
        weight[0] = count > 0.0f ? 1.0f / count : 0.0f;
        loss[0] = count > 0.0f ? sum / count : 0.0f;
    }
}

// dx (+)= (softmax(x) - q) factor weight dloss
WORK_GROUP(WG, 1, 1)
kernel void cross_entropy_backward(
    global float *restrict dx, global const float *restrict x,
    global const float *restrict lse, global const int *restrict targets,
    global const float *restrict factor, global const float *restrict weight,
    global const float *restrict dloss, entropy_shape s, int add)
{
    const int row = GROUP(0), target = targets[row];
    const float scale =
        is_counted(target, s) ? weight[0] * dloss[0] * row_factor(factor, row) : 0.0f;
    const size_t at = (size_t)row * s.columns;
    for (int c = LANE(0); c < s.columns; c += WG) {
        const float q = c == target ? s.gold : s.rest;
        const float g = scale == 0.0f ? 0.0f : (exp(x[at + c] - lse[row]) - q) * scale;
        dx[at + c] = add ? dx[at + c] + g : g;
    }
}
