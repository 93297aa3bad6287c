/* conv1d.cl - convolution along packed sequences: a product of rows for each tap.
 *
 * Layout: x [N,in], y [N,out], w [taps,in,out], spans [N] (start and end of the row's
 * sequence); partial [runs,taps,in,out].
 * Work-group: 64 items for TM x TN results, see product_group.clh.
 * Defines: those of product_group.clh; conv1d_sum has WG items, an element each.
 * Local: 16 (TM + TN + 8) floats.
 * Numerics: f32 sums, taps and channels in order, rows in order.
 * Writes: y, partial, dw whole (y and dw are added to when add). */
#include "conv1d_args.h"
#include "product_group.clh"

#ifndef WG
#define WG 64
#endif

/* Returns channels c .. c + 3 of row n + shift, with zeros outside n's sequence. */
INLINE float4 shifted(global const float *x, global const int2 *spans, int n, int shift,
                      int c, conv_shape s)
{
    const int2 span = spans[min(n, s.rows - 1)];
    const int from = n + shift;
    const bool inside = n < s.rows && from >= span.x && from < span.y && c < s.in;
    return quad_at(x + (inside ? (size_t)from * s.in + c : 0), inside ? s.in - c : 0);
}

/* a[k][i] = x[first + i + shift][c + k] */
INLINE void load_rows(local float *a, global const float *x, global const int2 *spans,
                      int first, int shift, int c, conv_shape s)
{
#pragma unroll
    for (int at = 0; at < TM * DEPTH / 4; at += ITEMS) {
        const int n = at + LANE(0);
        const int k = TURNED_INNER(n, TM), i = TURNED_OUTER(n, TM);
        put_turned(a + k * A_STEP + i, A_STEP,
                   shifted(x, spans, first + i, shift, c + k, s));
    }
}

/* Returns the sum for row n and channel o over the taps inside n's sequence: weights of
 * the others may hold anything. */
INLINE float inside_sum(global const float *x, global const float *w,
                        global const int2 *spans, int n, int o, conv_shape s,
                        int flipped)
{
    const int2 span = spans[n];
    const int begin = max(span.x - (n - s.before), 0);
    const int end = min(span.y - (n - s.before), s.taps);
    float sum = 0.0f;
    for (int tap = begin; tap < end; tap++) {
        global const float *from = x + (size_t)(n + tap - s.before) * s.in;
        const size_t at = (size_t)(flipped ? s.taps - 1 - tap : tap) * s.in * s.out;
        for (int k = 0; k < s.in; k++) {
            sum += from[k] * w[at + (flipped ? o * s.in + k : k * s.out + o)];
        }
    }
    return sum;
}

// y (+)= act(b + sum over u of x[n + u - before] w[u]); flipped: with the taps in
// reverse, each transposed
WORK_GROUP(ITEMS, 1, 1)
kernel void conv1d_rows(global float *restrict y, global const float *restrict x,
                        global const float *restrict w,
                        global const float *restrict bias,
                        global const int2 *restrict spans, conv_shape s, int flipped,
                        int add)
{
    local float a[A_SIZE] __attribute__((aligned(16)));
    local float b[B_SIZE] __attribute__((aligned(16)));
    const int across = (s.out + TN - 1) / TN;
    const int first = GROUP(0) / across * TM, o = GROUP(0) % across * TN;
    sums sum;
    sums_clear(&sum);
    for (int tap = 0; TOGETHER(tap < s.taps); tap++) {
        global const float *wu =
            w + (size_t)(flipped ? s.taps - 1 - tap : tap) * s.in * s.out;
        const matrix weights = flipped ? matrix_of(wu, s.in, s.out, s.in)
                                       : matrix_of(wu, s.out, s.in, s.out);
        for (int k = 0; TOGETHER(k < s.in); k += DEPTH) {
            load_rows(a, x, spans, first, tap - s.before, k, s);
            if (flipped) {
                load_turned(b, TN, weights, o, k);
            } else {
                load_straight(b, TN, weights, k, o);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            product_step(&sum, a, b);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    y += (size_t)first * s.out + o;
    if (sums_lost(&sum)) { // perhaps 0 times NaN or infinity
        EACH_NUMBER(row, column)
        {
            if (first + row < s.rows && o + column < s.out) {
                const float z =
                    inside_sum(x, w, spans, first + row, o + column, s, flipped);
                const float more = bias ? bias[o + column] : 0.0f;
                quad_store(y + (size_t)row * s.out + column,
                           (float4)(activate(z + more, s.activation)), 1, add);
            }
        }
        return;
    }
#define STORE(z, row, column)                                           \
    {                                                                   \
        const int left = first + row < s.rows ? s.out - o - column : 0; \
        float4 more = (float4)(0.0f);                                   \
        if (bias && left > 0) {                                         \
            more = quad_at(bias + o + column, left);                    \
        }                                                               \
        quad_store(y + (size_t)(row)*s.out + column,                    \
                   activate4(z + more, s.activation), left, add);       \
    }
    EACH_ROW(STORE, sum)
}

/* a[k][i] = x[row + k + shift][c + i] */
INLINE void load_columns(local float *a, global const float *x,
                         global const int2 *spans, int row, int shift, int c,
                         conv_shape s)
{
#pragma unroll
    for (int at = 0; at < TM * DEPTH / 4; at += ITEMS) {
        const int n = at + LANE(0);
        const int k = STRAIGHT_INNER(n, TM), i = STRAIGHT_OUTER(n, TM);
        *(local float4 *)(a + k * A_STEP + i) =
            shifted(x, spans, row + k, shift, c + i, s);
    }
}

/* Returns the sum over rows first .. last-1 of x[row + shift][c] g[row][o], inside the
 * sequences. */
INLINE float inside_gather(global const float *x, global const float *g,
                           global const int2 *spans, int first, int last, int shift,
                           int c, int o, conv_shape s)
{
    float sum = 0.0f;
    for (int row = first; row < last; row++) {
        const int2 span = spans[row];
        const int from = row + shift;
        if (from >= span.x && from < span.y) {
            sum += x[(size_t)from * s.in + c] * g[(size_t)row * s.out + o];
        }
    }
    return sum;
}

// partial[run, tap] = sum over the run's rows of x[row + tap - before]' g[row]
WORK_GROUP(ITEMS, 1, 1)
kernel void conv1d_weights(global float *restrict partial,
                           global const float *restrict x,
                           global const float *restrict g,
                           global const int2 *restrict spans, conv_shape s)
{
    local float a[A_SIZE] __attribute__((aligned(16)));
    local float b[B_SIZE] __attribute__((aligned(16)));
    const int across = (s.out + TN - 1) / TN;
    const int c = GROUP(1) / across * TM, o = GROUP(1) % across * TN;
    const int tap = GROUP(0) % s.taps, run = GROUP(0) / s.taps;
    const int first = run * s.run, last = min(first + s.run, s.rows);
    const matrix made =
        matrix_of(g + (size_t)first * s.out, s.out, last - first, s.out);
    sums sum;
    sums_clear(&sum);
    for (int row = first; TOGETHER(row < last); row += DEPTH) {
        load_columns(a, x, spans, row, tap - s.before, c, s);
        load_straight(b, TN, made, row - first, o);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, a, b);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    partial += ((size_t)GROUP(0) * s.in + c) * s.out + o;
    if (sums_lost(&sum)) { // perhaps 0 times NaN or infinity
        EACH_NUMBER(row, column)
        {
            if (c + row < s.in && o + column < s.out) {
                partial[(size_t)row * s.out + column] = inside_gather(
                    x, g, spans, first, last, tap - s.before, c + row, o + column, s);
            }
        }
        return;
    }
#define PARTIAL(z, row, column)                           \
    quad_store(partial + (size_t)(row)*s.out + column, z, \
               c + row < s.in ? s.out - o - column : 0, false);
    EACH_ROW(PARTIAL, sum)
}

// dw (+)= sum over the runs of partial, whose rows are width apart; for both schedules
WORK_GROUP(WG, 1, 1)
kernel void conv1d_sum(global float *restrict dw, global const float *restrict partial,
                       conv_shape s, int runs, int width, int add)
{
    const int i = GROUP(0) * WG + LANE(0), size = s.taps * s.in * s.out;
    if (i < size) {
        float sum = add ? dw[i] : 0.0f;
        for (int run = 0; run < runs; run++) {
            const size_t row = (size_t)run * s.taps * s.in + i / s.out;
            sum += partial[row * width + i % s.out];
        }
        dw[i] = sum;
    }
}
