/* linear.cl - the backward pass of a linear layer, apart from its matrix products.
 *
 * Layout: g, dy, h [N,out]; partial [runs,out]; db [out].
 * Work-group: WG items, a column each; in linear_gradients LINEAR_COLUMNS columns by
 * LINEAR_RUNS runs; in linear_add an element each.
 * Defines: WG.
 * Numerics: f32 sums in the order of the rows.
 * Writes: g, partial, db (added to when add) and y whole. */
#include "linear_args.h"

#ifndef WG
#define WG 64
#endif

// g = dy * act'(h); partial[run] = sum of g, or of dy if g is null, over the run's
// rows. partial may be null
WORK_GROUP(WG, 1, 1)
kernel void linear_gradient(global float *g, global float *partial,
                            global const float *dy, global const float *h,
                            linear_shape s)
{
    const int blocks = (s.cols + WG - 1) / WG;
    const int col = GROUP(0) % blocks * WG + LANE(0), run = GROUP(0) / blocks;
    if (col < s.cols) {
        float sum = 0.0f;
        for (int row = run * s.run; row < min(s.rows, (run + 1) * s.run); row++) {
            const size_t at = (size_t)row * s.cols + col;
            const float x = g ? dy[at] * activation_slope(h[at], s.activation) : dy[at];
            sum += x;
            if (g) {
                g[at] = x;
            }
        }
        if (partial) {
            partial[(size_t)run * s.cols + col] = sum;
        }
    }
}

// db (+)= sum of partial over the runs
WORK_GROUP(WG, 1, 1)
kernel void linear_bias(global float *db, global const float *partial, linear_shape s,
                        int add)
{
    const int col = GROUP(0) * WG + LANE(0);
    if (col < s.cols) {
        float sum = 0.0f;
        for (int run = 0; run < s.runs; run++) {
            sum += partial[(size_t)run * s.cols + col];
        }
        db[col] = add ? db[col] + sum : sum;
    }
}

/* Both at once, for at most LINEAR_RUNS runs with a row of items each: g = dy *
 * act'(h); db (+)= sum of g, or of dy if g is null, over all rows */
WORK_GROUP(LINEAR_COLUMNS *LINEAR_RUNS, 1, 1)
kernel void linear_gradients(global float *g, global float *restrict db,
                             global const float *restrict dy, global const float *h,
                             linear_shape s, int add)
{
    local float sums[LINEAR_RUNS * LINEAR_COLUMNS];
    const int lane = LANE(0) % LINEAR_COLUMNS, run = LANE(0) / LINEAR_COLUMNS;
    const int col = GROUP(0) * LINEAR_COLUMNS + lane;
    float sum = 0.0f;
    if (col < s.cols && run < s.runs) {
        for (int row = run * s.run; row < min(s.rows, (run + 1) * s.run); row++) {
            const size_t at = (size_t)row * s.cols + col;
            const float x = g ? dy[at] * activation_slope(h[at], s.activation) : dy[at];
            sum += x;
            if (g) {
                g[at] = x;
            }
        }
    }
    sums[LANE(0)] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (run == 0 && col < s.cols) {
        sum = 0.0f;
        for (int r = 0; r < s.runs; r++) {
            sum += sums[r * LINEAR_COLUMNS + lane];
        }
        db[col] = add ? db[col] + sum : sum;
    }
}

// y = a + b; y may be a or b
WORK_GROUP(WG, 1, 1)
kernel void linear_add(global float *y, global const float *a, global const float *b,
                       int n)
{
    const int i = GROUP(0) * WG + LANE(0);
    if (i < n) {
        y[i] = a[i] + b[i];
    }
}
