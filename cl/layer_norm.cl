/* layer_norm.cl - each row brought to mean 0 and deviation 1, then scaled and shifted;
 * with CENTRED 0 to root mean square 1, then scaled.
 *
 * Layout: x, y, dx, dy [N,D]; gamma, beta [D]; moments [N,2]; partial [groups,2,D].
 * Work-group: WG items to a row; in layer_norm_columns a column each, over a run of
 * rows; in layer_norm_gradients WG items to each of NORM_ROWS rows, or NORM_LANES items
 * to each of NORM_COLUMNS columns.
 * Defines: WG, a power of two; CENTRED.
 * Numerics: variance about the mean, in a second pass; sums in f32 by a tree.
 * Writes: y, moments, partial whole; dx, dgamma, dbeta whole (added to when add). */
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
    const float mean = CENTRED ? group_sum(sum, scratch, lid, WG) / s.columns : 0.0f;
    float square = 0.0f;
    for (int c = lid; c < s.columns; c += WG) {
        square += (x[at + c] - mean) * (x[at + c] - mean);
    }
    const float var = group_sum(square, scratch, lid, WG) / s.columns;
    const float rate = norm_rate(var, s.eps);
    for (int c = lid; c < s.columns; c += WG) {
        y[at + c] = (x[at + c] - mean) * rate * gamma[c] + norm_shift(beta, c);
    }
    if (lid == 0) {
        moments[2 * row] = mean;
        moments[2 * row + 1] = rate;
    }
}

/* A row's columns, offset, mean and 1/deviation; a row past the last has no columns. */
typedef struct norm_row {
    int columns;
    size_t at;
    float mean, rate;
} norm_row;

INLINE norm_row row_of(global const float *moments, norm_shape s, int row)
{
    norm_row r = { 0, 0, 0.0f, 0.0f };
    if (row < s.rows) {
        r.columns = s.columns;
        r.at = (size_t)row * s.columns;
        r.mean = moments[2 * row];
        r.rate = moments[2 * row + 1];
    }
    return r;
}

/* Returns this item's part of sum(g) and sum(g z), g = dy gamma, z = (x - mean)
 * rate. */
INLINE float2 row_sums(global const float *x, global const float *dy,
                       global const float *gamma, norm_row r, int lid)
{
    float2 sum = (float2)(0.0f);
    for (int c = lid; c < r.columns; c += WG) {
        const float g = dy[r.at + c] * gamma[c];
        sum.x += g;
        sum.y += g * (x[r.at + c] - r.mean) * r.rate;
    }
    return sum;
}

// dx (+)= rate (g - mean(g) - z mean(g z))
INLINE void row_gradient(global float *dx, global const float *x,
                         global const float *dy, global const float *gamma, norm_row r,
                         int lid, float2 means, int add)
{
    for (int c = lid; c < r.columns; c += WG) {
        const float z = (x[r.at + c] - r.mean) * r.rate;
        const float m = CENTRED ? means.x : 0.0f;
        const float g = r.rate * (dy[r.at + c] * gamma[c] - m - z * means.y);
        dx[r.at + c] = add ? dx[r.at + c] + g : g;
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
    const int lid = LANE(0);
    const norm_row r = row_of(moments, s, GROUP(0));
    float2 sum = row_sums(x, dy, gamma, r, lid);
    sum.x = group_sum(sum.x, scratch, lid, WG) / s.columns;
    sum.y = group_sum(sum.y, scratch, lid, WG) / s.columns;
    row_gradient(dx, x, dy, gamma, r, lid, sum, add);
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

/* Sums dy z and dy over each run of rows, for NORM_COLUMNS columns. */
INLINE void sum_runs(local float *sums, global const float *x, global const float *dy,
                     global const float *moments, norm_shape s, int c)
{
    const int lane = LANE(0) % NORM_COLUMNS, runs = (s.rows + s.run - 1) / s.run;
    for (int run = LANE(0) / NORM_COLUMNS; c < s.columns && run < runs;
         run += NORM_LANES) {
        float scale = 0.0f, shift = 0.0f;
        for (int row = run * s.run; row < min((run + 1) * s.run, s.rows); row++) {
            const size_t at = (size_t)row * s.columns + c;
            scale += dy[at] * (x[at] - moments[2 * row]) * moments[2 * row + 1];
            shift += dy[at];
        }
        sums[2 * run * NORM_COLUMNS + lane] = scale;
        sums[(2 * run + 1) * NORM_COLUMNS + lane] = shift;
    }
}

/* out[c] (+)= the runs' sums, in order: of dy z if which is 0, of dy if 1 */
INLINE void add_runs(global float *out, local const float *sums, norm_shape s, int c,
                     int which, int add)
{
    float sum = add ? out[c] : 0.0f;
    for (int run = 0; run < (s.rows + s.run - 1) / s.run; run++) {
        sum += sums[(2 * run + which) * NORM_COLUMNS + LANE(0) % NORM_COLUMNS];
    }
    out[c] = sum;
}

/* All gradients at once, for at most NORM_RUNS runs: the first groups have NORM_ROWS
 * rows of dx each, the others NORM_COLUMNS columns of dgamma (+)= sum of dy z and dbeta
 * (+)= sum of dy. dx, dgamma or dbeta may be null. Bits of adds: 1 adds to dgamma, 2 to
 * dbeta, 4 to dx. Every group meets the barriers of both jobs. */
WORK_GROUP(NORM_COLUMNS *NORM_LANES, 1, 1)
kernel void layer_norm_gradients(global float *dx, global float *dgamma,
                                 global float *dbeta, global const float *restrict x,
                                 global const float *restrict dy,
                                 global const float *restrict gamma,
                                 global const float *restrict moments, norm_shape s,
                                 int adds)
{
    local float sums[NORM_RUNS * 2 * NORM_COLUMNS], scratch[NORM_ROWS * WG];
    const int above = dx ? (s.rows + NORM_ROWS - 1) / NORM_ROWS : 0;
    const int mine = LANE(0) / WG, lid = LANE(0) % WG, block = GROUP(0) - above;
    const int c = block * NORM_COLUMNS + LANE(0) % NORM_COLUMNS;
    const norm_row r = row_of(moments, s, GROUP(0) * NORM_ROWS + mine);
    float2 sum = (float2)(0.0f);
    if (block < 0) {
        sum = row_sums(x, dy, gamma, r, lid);
    } else {
        sum_runs(sums, x, dy, moments, s, c);
    }
    sum.x = group_sum(sum.x, scratch + mine * WG, lid, WG) / s.columns;
    sum.y = group_sum(sum.y, scratch + mine * WG, lid, WG) / s.columns;
    if (block < 0) {
        row_gradient(dx, x, dy, gamma, r, lid, sum, adds & 4);
    } else if (c < s.columns) {
        const int which = LANE(0) / NORM_COLUMNS;
        global float *out = which ? dbeta : dgamma;
        if (which < 2 && out) {
            add_runs(out, sums, s, c, which, adds >> which & 1);
        }
    }
}
