/* layer_norm.cl - each row brought to mean 0 and deviation 1, then scaled and shifted;
 * with CENTRED 0, for rms_norm, to root mean square 1, then scaled.
 *
 * Layout: x, y, dx, dy [N,D]; gamma, beta [D]; moments [N,2]; partial [groups,2,D].
 * Work-group: as row.clh; in layer_norm_columns a column each, or all on CPU devices,
 * over a run of rows; in layer_norm_gradients WG items to each of NORM_ROWS rows, or
 * NORM_LANES items to each of NORM_COLUMNS columns.
 * Defines: WG, a power of two, and VEC, as row.clh; CENTRED.
 * Numerics: variance about the mean, in a second pass; sums in f32.
 * Writes: y, moments, partial whole; dx, dgamma, dbeta whole (added to when add). */
#include "layer_norm_args.h"
#include "row.clh"

#ifndef CENTRED
#define CENTRED 1
#endif

/* Returns 1 / deviation; NaN where a row's squares are beyond floats, since 0 would
 * make finite numbers of it. */
INLINE float norm_rate(float var, float eps)
{
    return var < INFINITY ? 1.0f / sqrt(var + eps) : NAN;
}

// y = (x - mean) / sqrt(var + eps) gamma + beta
WORK_GROUP(WG, 1, 1)
kernel void layer_norm_forward(global float *restrict y, global float *restrict moments,
                               global const float *restrict x,
                               global const float *restrict gamma,
                               global const float *restrict beta, norm_shape s)
{
    ROW_SCRATCH(1);
    EACH_ROW(row, s.rows, s.run)
    {
        const size_t at = (size_t)row * s.columns;
        float mean = 0.0f, var;
        if (CENTRED) {
            ROW_SUM(mean, c, s.columns, AT(x, at + c));
            mean /= s.columns;
        }
        ROW_SUM(var, c, s.columns, (AT(x, at + c) - mean) * (AT(x, at + c) - mean));
        const float rate = norm_rate(var / s.columns, s.eps);
        EACH_COLUMN(c, s.columns, {
            const real z = (AT(x, at + c) - mean) * rate;
            AT(y, at + c) = z * AT(gamma, c) + (CENTRED ? AT(beta, c) : 0.0f);
        });
        if (ROW_LANE == 0) {
            moments[2 * row] = mean;
            moments[2 * row + 1] = rate;
        }
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

/* m = the row's sums of g and g z, g = dy gamma, z = (x - mean) rate */
#define NORM_SUMS(m, x, dy, gamma, r)                                                \
    ROW_SUMS(m.x, m.y, c, r.columns, const real g = AT(dy, r.at + c) * AT(gamma, c), \
             g, g * (AT(x, r.at + c) - r.mean) * r.rate)

// dx (+)= rate (g - mean(g) - z mean(g z))
INLINE void row_gradient(global float *dx, global const float *x,
                         global const float *dy, global const float *gamma, norm_row r,
                         float2 means, int add)
{
    const float mean = CENTRED ? means.x : 0.0f;
    ROW_PUT(dx + r.at, c, r.columns,
            r.rate * (AT(dy, r.at + c) * AT(gamma, c) - mean -
                      (AT(x, r.at + c) - r.mean) * r.rate * means.y),
            add);
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
    ROW_SCRATCH(1);
    EACH_ROW(row, s.rows, s.run)
    {
        const norm_row r = row_of(moments, s, row);
        float2 sum;
        NORM_SUMS(sum, x, dy, gamma, r);
        row_gradient(dx, x, dy, gamma, r, sum / s.columns, add);
    }
}

#if WG > 1
/* Returns the sums of dy z and dy in column c of a run of rows. */
INLINE float2 run_sums(global const float *x, global const float *dy,
                       global const float *moments, norm_shape s, int run, int c)
{
    const int first = run * s.run, last = min(first + s.run, s.rows);
    float scale = 0.0f, shift = 0.0f;
    for (int row = first; row < last; row++) {
        const size_t at = (size_t)row * s.columns + c;
        scale += dy[at] * (x[at] - moments[2 * row]) * moments[2 * row + 1];
        shift += dy[at];
    }
    return (float2)(scale, shift);
}
#endif

// partial[group] = sums over the group's rows of dy z and of dy. GPUs keep a column's
// sums in registers; CPUs read rows as they lie in memory
WORK_GROUP(WG, 1, 1)
kernel void layer_norm_columns(global float *restrict partial,
                               global const float *restrict x,
                               global const float *restrict dy,
                               global const float *restrict moments, norm_shape s)
{
#if WG > 1
    const int c = GROUP(1) * WG + LANE(0);
    if (c < s.columns) {
        const float2 sum = run_sums(x, dy, moments, s, GROUP(0), c);
        global float *to = partial + (size_t)GROUP(0) * 2 * s.columns + c;
        to[0] = sum.x;
        to[s.columns] = sum.y;
    }
#else
    global float *scale = partial + (size_t)GROUP(0) * 2 * s.columns;
    global float *shift = scale + s.columns;
    EACH_COLUMN(c, 2 * s.columns, AT(scale, c) = 0.0f);
    EACH_ROW(row, s.rows, s.run)
    {
        const norm_row r = row_of(moments, s, row);
        EACH_COLUMN(c, s.columns, {
            const real d = AT(dy, r.at + c);
            AT(scale, c) += d * (AT(x, r.at + c) - r.mean) * r.rate;
            AT(shift, c) += d;
        });
    }
#endif
}

#if WG > 1
/* Sums dy z and dy over each run of rows, for NORM_COLUMNS columns. */
INLINE void sum_runs(local float *sums, global const float *x, global const float *dy,
                     global const float *moments, norm_shape s, int c)
{
    const int lane = LANE(0) % NORM_COLUMNS, runs = (s.rows + s.run - 1) / s.run;
    for (int run = LANE(0) / NORM_COLUMNS; c < s.columns && run < runs;
         run += NORM_LANES) {
        const float2 sum = run_sums(x, dy, moments, s, run, c);
        sums[2 * run * NORM_COLUMNS + lane] = sum.x;
        sums[(2 * run + 1) * NORM_COLUMNS + lane] = sum.y;
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
 * dbeta, 4 to dx. Every group meets the barriers of both jobs. For GPUs alone, where a
 * launch costs as much as the sums of few rows. */
WORK_GROUP(NORM_COLUMNS *NORM_LANES, 1, 1)
kernel void layer_norm_gradients(global float *dx, global float *dgamma,
                                 global float *dbeta, global const float *restrict x,
                                 global const float *restrict dy,
                                 global const float *restrict gamma,
                                 global const float *restrict moments, norm_shape s,
                                 int adds)
{
    local float sums[NORM_RUNS * 2 * NORM_COLUMNS];
    ROW_SCRATCH(NORM_ROWS);
    const int above = dx ? (s.rows + NORM_ROWS - 1) / NORM_ROWS : 0;
    const int block = GROUP(0) - above, row = GROUP(0) * NORM_ROWS + LANE(0) / WG;
    const int c = block * NORM_COLUMNS + LANE(0) % NORM_COLUMNS;
    const norm_row r = row_of(moments, s, block < 0 ? row : s.rows);
    if (block >= 0) {
        sum_runs(sums, x, dy, moments, s, c);
    }
    float2 sum;
    NORM_SUMS(sum, x, dy, gamma, r);
    if (block < 0) {
        row_gradient(dx, x, dy, gamma, r, sum / s.columns, adds & 4);
    } else if (c < s.columns) {
        const int which = LANE(0) / NORM_COLUMNS;
        global float *out = which ? dbeta : dgamma;
        if (which < 2 && out) {
            add_runs(out, sums, s, c, which, adds >> which & 1);
        }
    }
}
#endif
