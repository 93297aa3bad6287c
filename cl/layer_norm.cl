/* layer_norm.cl - each row brought to mean 0 and deviation 1, then scaled and shifted.
 *
 * Layout: x, y, dx, dy [N,D]; gamma, beta [D]; moments [N,2]; partial [groups,2,D].
 * Work-group: WG items to a row; in layer_norm_columns a column each, over a run of
 * rows; in layer_norm_gains NORM_COLUMNS columns by NORM_LANES. Defines: WG, a power of two. Numerics: variance about the mean, in a second
 * pass; sums in f32 by a tree. Writes: y, moments, partial whole; dx whole (added to
 * when add). */
#include "layer_norm.clh"

#ifndef WG
#define WG 64
#endif

// y = (x - mean) / sqrt(var + eps) gamma + beta
WORK_GROUP(WG, 1, 1)
kernel void layer_norm_forward(global float *restrict y, global float *restrict moments,
                               global const float *restrict x,
                               global const float *restrict gamma,
                               global const float *restrict beta, norm_shape s)
{
    local float scratch[WG];
    const int lid = LANE(0), row = GROUP(0);
    const size_t at = (size_t)row * s.columns;
    float sum = 0.0f;
    for (int c = lid; c < s.columns; c += WG) {
        sum += x[at + c];
    }
    const float mean = group_sum(sum, scratch, lid, WG) / s.columns;
    float square = 0.0f;
    for (int c = lid; c < s.columns; c += WG) {
        square += (x[at + c] - mean) * (x[at + c] - mean);
    }
    const float var = group_sum(square, scratch, lid, WG) / s.columns;
    const float rate = 1.0f / sqrt(var + s.eps);
    for (int c = lid; c < s.columns; c += WG) {
        y[at + c] = (x[at + c] - mean) * rate * gamma[c] + beta[c];
    }
    if (lid == 0) {
        moments[2 * row] = mean;
        moments[2 * row + 1] = rate;
    }
}

// dx (+)= rate (g - mean(g) - z mean(g z)), g = dy gamma, z = (x - mean) rate
WORK_GROUP(WG, 1, 1)
kernel void layer_norm_backward(global float *restrict dx,
                                global const float *restrict x,
                                global const float *restrict dy,
                                global const float *restrict gamma,
                                global const float *restrict moments, norm_shape s,
                                int add)
{
    local float scratch[WG];
    const int lid = LANE(0), row = GROUP(0);
    const size_t at = (size_t)row * s.columns;
    const float mean = moments[2 * row], rate = moments[2 * row + 1];
    float sum = 0.0f, dot = 0.0f;
    for (int c = lid; c < s.columns; c += WG) {
        const float g = dy[at + c] * gamma[c];
        sum += g;
        dot += g * (x[at + c] - mean) * rate;
    }
    sum = group_sum(sum, scratch, lid, WG) / s.columns;
    dot = group_sum(dot, scratch, lid, WG) / s.columns;
    for (int c = lid; c < s.columns; c += WG) {
        const float z = (x[at + c] - mean) * rate;
        const float g = rate * (dy[at + c] * gamma[c] - sum - z * dot);
        dx[at + c] = add ? dx[at + c] + g : g;
    }
}

// partial[group] = sums over the group's rows of dy z and of dy
WORK_GROUP(WG, 1, 1)
kernel void layer_norm_columns(global float *restrict partial,
                               global const float *restrict x,
                               global const float *restrict dy,
                               global const float *restrict moments, norm_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    const int c = GROUP(1) * WG + LANE(0);
    if (c < s.columns) {
        float scale = 0.0f, shift = 0.0f;
        for (int row = first; row < last; row++) {
            const size_t at = (size_t)row * s.columns + c;
            scale += dy[at] * (x[at] - moments[2 * row]) * moments[2 * row + 1];
            shift += dy[at];
        }
        global float *to = partial + (size_t)GROUP(0) * 2 * s.columns + c;
        to[0] = scale;
        to[s.columns] = shift;
    }
}

/* Both sums at once, for at most NORM_RUNS runs: dgamma (+)= sum of dy z, dbeta (+)= sum
 * of dy; either may be null; bits of adds: which are added to. Runs are added in order.
 */
WORK_GROUP(NORM_COLUMNS *NORM_LANES, 1, 1)
kernel void layer_norm_gains(global float *dgamma, global float *dbeta,
                             global const float *restrict x,
                             global const float *restrict dy,
                             global const float *restrict moments, norm_shape s,
                             int adds)
{
    local float sums[NORM_RUNS * 2 * NORM_COLUMNS];
    const int lane = LANE(0) % NORM_COLUMNS, mine = LANE(0) / NORM_COLUMNS;
    const int c = GROUP(0) * NORM_COLUMNS + lane;
    const int runs = (s.rows + s.run - 1) / s.run;
    for (int run = mine; c < s.columns && run < runs; run += NORM_LANES) {
        float scale = 0.0f, shift = 0.0f;
        for (int row = run * s.run; row < min((run + 1) * s.run, s.rows); row++) {
            const size_t at = (size_t)row * s.columns + c;
            scale += dy[at] * (x[at] - moments[2 * row]) * moments[2 * row + 1];
            shift += dy[at];
        }
        sums[2 * run * NORM_COLUMNS + lane] = scale;
        sums[(2 * run + 1) * NORM_COLUMNS + lane] = shift;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    global float *to = mine == 0 ? dgamma : dbeta;
    if (mine < 2 && c < s.columns && to) {
        float sum = adds >> mine & 1 ? to[c] : 0.0f;
        for (int run = 0; run < runs; run++) {
            sum += sums[(2 * run + mine) * NORM_COLUMNS + lane];
        }
        to[c] = sum;
    }
}
