/* cross_entropy_tile.cl - cross_entropy.cl for CPU devices, with a run of rows for each
 * work-item; the mean is in cross_entropy.cl.
 *
 * Layout: x, dx [N,V]; targets, factor (NULL: ones) [N]; lse, cost [N]; weight [1].
 * Work-group: 1 item.
 * Defines: VEC, the native width.
 * Numerics: as cross_entropy.cl, with exp_fastv.
 * Writes: lse, cost whole; dx whole (added to when add). */
#include "cross_entropy.clh"
#include "log_softmax_tile.clh"

// lse = top + ln sum exp(x - top); cost = factor (lse - <q, x>), 0 if the target is not
// counted
WORK_GROUP(1, 1, 1)
kernel void cross_entropy_rows(global float *restrict lse, global float *restrict cost,
                               global const float *restrict x,
                               global const int *restrict targets,
                               global const float *restrict factor, entropy_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        global const float *from = x + (size_t)row * s.columns;
        const int target = targets[row];
        const float top = row_top(from, s.columns);
        const float2 sums = row_sums(from, s.columns, top);
        lse[row] = top + log(sums.x);
        cost[row] = is_counted(target, s)
                        ? row_cost(log(sums.x), sums.y, from[target] - top, s) *
                              row_factor(factor, row)
                        : 0.0f;
    }
}

/* dx (+)= (exp(x - lse) - q) scale over one row */
INLINE void row_backward(global float *dx, global const float *x, float lse, int target,
                         float scale, const entropy_shape s, int add)
{
    int c = 0;
    for (; c + VEC <= s.columns; c += VEC) {
        const floatv g = (exp_fastv(loadv(0, x + c) - lse) - s.rest) * scale;
        storev(add ? loadv(0, dx + c) + g : g, 0, dx + c);
    }
    for (; c < s.columns; c++) {
        const float g = (exp_fast(x[c] - lse) - s.rest) * scale;
        dx[c] = add ? dx[c] + g : g;
    }
    dx[target] -= (s.gold - s.rest) * scale;
}

// dx (+)= (softmax(x) - q) factor weight dloss
WORK_GROUP(1, 1, 1)
kernel void cross_entropy_backward(
    global float *restrict dx, global const float *restrict x,
    global const float *restrict lse, global const int *restrict targets,
    global const float *restrict factor, global const float *restrict weight,
    global const float *restrict dloss, entropy_shape s, int add)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        const size_t at = (size_t)row * s.columns;
        if (is_counted(targets[row], s)) {
            const float scale = weight[0] * dloss[0] * row_factor(factor, row);
            row_backward(dx + at, x + at, lse[row], targets[row], scale, s, add);
        } else {
            for (int c = 0; c < s.columns; c++) {
                dx[at + c] = add ? dx[at + c] : 0.0f;
            }
        }
    }
}
