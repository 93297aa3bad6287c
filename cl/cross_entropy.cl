/* cross_entropy.cl - log-softmax and loss in one, without a matrix of probabilities.
 *
 * Layout: x, dx [N,V]; targets, factor (NULL: ones) [N]; lse, cost [N]; loss [1];
 * weight [1].
 * Work-group: as row.clh; cross_entropy_mean: one group of WG items in all.
 * Defines: WG, a power of two, and VEC, as row.clh.
 * Numerics: the row's maximum is subtracted; sums in f32.
 * Writes: lse, cost, loss, weight whole; dx whole (added to when add). */
#include "cross_entropy_args.h"
#include "row.clh"

INLINE int is_counted(int target, entropy_shape s)
{
    return target >= 0 && target < s.columns;
}

/* Returns the factor of a row's loss. */
INLINE float row_factor(global const float *factor, int row)
{
    return factor ? factor[row] : 1.0f;
}

/* Returns the loss of a row, lse - <q, x>. log_sum, total (the sum of x) and gold_x are
 * relative to the row's maximum; without smoothing a logit of -inf costs nothing. */
INLINE float row_cost(float log_sum, float total, float gold_x, entropy_shape s)
{
    const float others = s.rest == 0.0f ? 0.0f : s.rest * (total - gold_x);
    return log_sum - s.gold * gold_x - others;
}

// lse = top + ln sum exp(x - top); cost = factor (lse - <q, x>), 0 if the target is not
// counted
WORK_GROUP(WG, 1, 1)
kernel void cross_entropy_rows(global float *restrict lse, global float *restrict cost,
                               global const float *restrict x,
                               global const int *restrict targets,
                               global const float *restrict factor, entropy_shape s)
{
    ROW_SCRATCH(1);
    EACH_ROW(row, s.rows, s.run)
    {
        global const float *from = x + (size_t)row * s.columns;
        const int target = targets[row];
        const float top = ROW_MAX(from, s.columns);
        float sum, total;
        ROW_SUMS(sum, total, c, s.columns, const real z = AT(from, c) - top, row_exp(z),
                 z);
        if (ROW_LANE == 0) {
            lse[row] = top + log(sum);
            cost[row] = is_counted(target, s)
                            ? row_cost(log(sum), total, from[target] - top, s) *
                                  row_factor(factor, row)
                            : 0.0f;
        }
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
    EACH_ROW(row, s.rows, s.run)
    {
        const int target = targets[row];
        const float scale = is_counted(target, s)
                                ? weight[0] * dloss[0] * row_factor(factor, row)
                                : 0.0f;
        const size_t at = (size_t)row * s.columns;
        const float log_sum = lse[row];
        if (scale != 0.0f) {
            ROW_PUT(dx + at, c, s.columns,
                    (row_exp(AT(x, at + c) - log_sum) - s.rest) * scale, add);
            if (ROW_LANE == target % WG) { // the item whose column it is
                dx[at + target] -= (s.gold - s.rest) * scale;
            }
        } else if (!add) {
            EACH_COLUMN(c, s.columns, AT(dx, at + c) = 0.0f);
        }
    }
}
