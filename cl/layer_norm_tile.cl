/* layer_norm_tile.cl - layer_norm.cl for CPU devices; each work-item has a run of rows.
 *
 * Layout: x, y, dx, dy [N,D]; gamma, beta [D]; moments [N,2]; partial [groups,2,D].
 * Work-group: 1 item.
 * Defines: VEC, the native width; CENTRED.
 * Numerics: as layer_norm.cl, sums in VEC lanes.
 * Writes: y, moments, partial whole; dx whole (added to when add). */
#include "layer_norm.clh"
#include "vector.clh"

INLINE float row_sum(global const float *x, int columns)
{
    floatv sum = (floatv)(0.0f);
    int c = 0;
    for (; c + VEC <= columns; c += VEC) {
        sum += loadv(0, x + c);
    }
    float total = sum_lanes(sum);
    for (; c < columns; c++) {
        total += x[c];
    }
    return total;
}

/* Returns the sum of squares about the mean. */
INLINE float row_square(global const float *x, int columns, float mean)
{
    floatv sum = (floatv)(0.0f);
    int c = 0;
    for (; c + VEC <= columns; c += VEC) {
        const floatv away = loadv(0, x + c) - mean;
        sum += away * away;
    }
    float total = sum_lanes(sum);
    for (; c < columns; c++) {
        total += (x[c] - mean) * (x[c] - mean);
    }
    return total;
}

// y = (x - mean) / sqrt(var + eps) gamma + beta
WORK_GROUP(1, 1, 1)
kernel void layer_norm_forward(global float *restrict y, global float *restrict moments,
                               global const float *restrict x,
                               global const float *restrict gamma,
                               global const float *restrict beta, norm_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        const size_t at = (size_t)row * s.columns;
        const float mean = CENTRED ? row_sum(x + at, s.columns) / s.columns : 0.0f;
        const float var = row_square(x + at, s.columns, mean) / s.columns;
        const float rate = norm_rate(var, s.eps);
        for (int c = 0; c < s.columns; c++) {
            y[at + c] = (x[at + c] - mean) * rate * gamma[c] + norm_shift(beta, c);
        }
        moments[2 * row] = mean;
        moments[2 * row + 1] = rate;
    }
}

/* Returns a row's means of g = dy gamma and of g z, z = (x - mean) rate. */
INLINE float2 row_means(global const float *x, global const float *dy,
                        global const float *gamma, int columns, float mean, float rate)
{
    floatv sum = (floatv)(0.0f), dot = (floatv)(0.0f);
    int c = 0;
    for (; c + VEC <= columns; c += VEC) {
        const floatv g = loadv(0, dy + c) * loadv(0, gamma + c);
        sum += g;
        dot += g * (loadv(0, x + c) - mean);
    }
    float2 total = (float2)(sum_lanes(sum), sum_lanes(dot));
    for (; c < columns; c++) {
        total += dy[c] * gamma[c] * (float2)(1.0f, x[c] - mean);
    }
    return total * (float2)(1.0f, rate) / columns;
}

// dx (+)= rate (g - mean(g) - z mean(g z)), g = dy gamma, z = (x - mean) rate
WORK_GROUP(1, 1, 1)
kernel void layer_norm_backward(global float *restrict dx,
                                global const float *restrict x,
                                global const float *restrict dy,
                                global const float *restrict gamma,
                                global const float *restrict moments, norm_shape s,
                                int add)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        const size_t at = (size_t)row * s.columns;
        const float mean = moments[2 * row], rate = moments[2 * row + 1];
        const float2 m = row_means(x + at, dy + at, gamma, s.columns, mean, rate);
        for (int c = 0; c < s.columns; c++) {
            const float z = (x[at + c] - mean) * rate;
            const float shared = CENTRED ? m.x : 0.0f;
            const float g = rate * (dy[at + c] * gamma[c] - shared - z * m.y);
            dx[at + c] = add ? dx[at + c] + g : g;
        }
    }
}

// partial[group] = sums over the group's rows of dy z and of dy
WORK_GROUP(1, 1, 1)
kernel void layer_norm_columns(global float *restrict partial,
                               global const float *restrict x,
                               global const float *restrict dy,
                               global const float *restrict moments, norm_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    global float *restrict scale = partial + (size_t)GROUP(0) * 2 * s.columns;
    global float *restrict shift = scale + s.columns;
    for (int c = 0; c < s.columns; c++) {
        scale[c] = shift[c] = 0.0f;
    }
    for (int row = first; row < last; row++) {
        const size_t at = (size_t)row * s.columns;
        const float mean = moments[2 * row], rate = moments[2 * row + 1];
        for (int c = 0; c < s.columns; c++) {
            scale[c] += dy[at + c] * (x[at + c] - mean) * rate;
            shift[c] += dy[at + c];
        }
    }
}
