/* linear_tile.cl - linear.cl for CPU devices; each work-item has a strip of columns.
 *
 * Layout: g, dy, h [N,out]; partial [runs,out]; db [out].
 * Work-group: 1 item, STRIP columns (linear_add: STRIP_ADD elements).
 * Defines: VEC, the native width.
 * Numerics: f32 sums in the order of the rows.
 * Writes: g, partial, db (added to when add) and y whole. */
#include "linear_args.h"
#include "vector.clh"

#define STRIP     (2 * VEC)
#define STRIP_ADD 4096

/* Computes g and partial for one vector of columns of a run; gradient_1 has one
 * column. */
INLINE void gradient_v(global float *g, global float *partial, global const float *dy,
                       global const float *h, linear_shape s, int rows)
{
    floatv sum = (floatv)(0.0f);
    for (int row = 0; row < rows; row++) {
        const size_t at = (size_t)row * s.cols;
        floatv x = loadv(0, dy + at);
        if (g) {
            x *= activation_slopev(loadv(0, h + at), s.activation);
            storev(x, 0, g + at);
        }
        sum += x;
    }
    if (partial) {
        storev(sum, 0, partial);
    }
}

INLINE void gradient_1(global float *g, global float *partial, global const float *dy,
                       global const float *h, linear_shape s, int rows)
{
    float sum = 0.0f;
    for (int row = 0; row < rows; row++) {
        const size_t at = (size_t)row * s.cols;
        float x = dy[at];
        if (g) {
            x *= activation_slope(h[at], s.activation);
            g[at] = x;
        }
        sum += x;
    }
    if (partial) {
        *partial = sum;
    }
}

// g = dy * act'(h); partial[run] = sum of g, or of dy if g is null, over the run's
// rows. partial may be null
WORK_GROUP(1, 1, 1)
kernel void linear_gradient(global float *g, global float *partial,
                            global const float *dy, global const float *h,
                            linear_shape s)
{
    const int blocks = (s.cols + STRIP - 1) / STRIP;
    const int first = GROUP(0) % blocks * STRIP, run = GROUP(0) / blocks;
    const int last = min(first + STRIP, s.cols);
    const int rows = min(s.run, s.rows - run * s.run);
    const size_t from = (size_t)run * s.run * s.cols;
    partial = partial ? partial + (size_t)run * s.cols : 0;
    int c = first;
    for (; c + VEC <= last; c += VEC) {
        gradient_v(g ? g + from + c : 0, partial ? partial + c : 0, dy + from + c,
                   g ? h + from + c : 0, s, rows);
    }
    for (; c < last; c++) {
        gradient_1(g ? g + from + c : 0, partial ? partial + c : 0, dy + from + c,
                   g ? h + from + c : 0, s, rows);
    }
}

// db (+)= sum of partial over the runs
WORK_GROUP(1, 1, 1)
kernel void linear_bias(global float *db, global const float *partial, linear_shape s,
                        int add)
{
    const int first = GROUP(0) * STRIP, last = min(first + STRIP, s.cols);
    for (int c = first; c < last; c++) {
        float sum = 0.0f;
        for (int run = 0; run < s.runs; run++) {
            sum += partial[(size_t)run * s.cols + c];
        }
        db[c] = add ? db[c] + sum : sum;
    }
}

// y = a + b; y may be a or b
WORK_GROUP(1, 1, 1)
kernel void linear_add(global float *y, global const float *a, global const float *b,
                       int n)
{
    const int first = GROUP(0) * STRIP_ADD, last = min(n - first, STRIP_ADD) + first;
    int i = first;
    for (; i + VEC <= last; i += VEC) {
        storev(loadv(0, a + i) + loadv(0, b + i), 0, y + i);
    }
    for (; i < last; i++) {
        y[i] = a[i] + b[i];
    }
}
