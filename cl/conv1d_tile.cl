/* conv1d_tile.cl - convolution along packed sequences for CPU devices: a product for
 * each tap, which reads rows in place instead of copies of their neighbourhoods.
 *
 * Layout: x [N,in], y [N,out], w [taps,in,out], spans [N] (start and end of the row's
 * sequence); panels [ceil(out/TILE_N),taps,in,TILE_N] are w with zeros at the end;
 * partial [runs,taps,in,ceil(out/TILE_N)*TILE_N].
 * Work-group: 1 item for a run of rows; in the backward pass for w, for one tap of it.
 * Defines: VEC, the native width; MR, rows of a register tile.
 * Numerics: f32 sums, taps and channels in order, rows in order.
 * Writes: panels, y, partial whole (y is added to when add). */
#include "conv1d_args.h"
#include "lost.clh"
#include "product_tile.clh"

IS_LOST(v, floatv, intv, as_intv)
ADD_ROWS(add_rows, global)
ADD_COLUMNS(add_columns, private)

// panels of w; flipped: those for the gradient of x, with taps in reverse, w transposed
WORK_GROUP(1, 1, 1)
kernel void conv1d_pack(global float *restrict panels, global const float *restrict w,
                        conv_shape s, int flipped)
{
    const int tap = GROUP(0), first = GROUP(1) * TILE_N;
    const int from = flipped ? s.taps - 1 - tap : tap;
    panels += ((size_t)GROUP(1) * s.taps + tap) * s.in * TILE_N;
    w += (size_t)from * s.in * s.out;
    for (int k = 0; k < s.in; k++) {
        for (int j = 0; j < TILE_N; j++) {
            const int o = first + j;
            const size_t at = flipped ? (size_t)o * s.in + k : (size_t)k * s.out + o;
            panels[k * TILE_N + j] = o < s.out ? w[at] : 0.0f;
        }
    }
}

/* Where a register tile is stored; rows and columns are left up to the edges. */
typedef struct target {
    global float *y;
    global const float *bias;
    int stride, rows, columns, activation, add;
} target;

INLINE floatv finish(floatv x, const target t, int v)
{
    x = t.bias ? x + loadv(v, t.bias) : x;
    return activatev(x, t.activation);
}

INLINE void store_whole(floatv sum[MR][2], const target t)
{
    EACH_ROW(r)
    {
        global float *y = t.y + (size_t)r * t.stride;
        for (int v = 0; v < 2; v++) {
            const floatv z = finish(sum[r][v], t, v);
            storev(t.add ? loadv(v, y) + z : z, v, y);
        }
    }
}

INLINE void store_edge(floatv sum[MR][2], const target t)
{
    float each[MR * TILE_N];
    EACH_ROW(r)
    {
        storev(sum[r][0], 2 * r, each);
        storev(sum[r][1], 2 * r + 1, each);
    }
    for (int r = 0; r < min(t.rows, MR); r++) {
        global float *y = t.y + (size_t)r * t.stride;
        for (int j = 0; j < min(t.columns, TILE_N); j++) {
            const float x = each[r * TILE_N + j] + (t.bias ? t.bias[j] : 0.0f);
            const float z = activate(x, t.activation);
            y[j] = t.add ? y[j] + z : z;
        }
    }
}

/* sum = MR rows of the convolution, from row on, by one panel. Rows of x outside the
 * sequence are zeros. Returns whether there were none. */
INLINE bool convolve(floatv sum[MR][2], global const float *x, global const int2 *spans,
                     global const float *zeros, global const float *panel, int row,
                     const conv_shape s)
{
    int2 span[MR];
    EACH_ROW(r)
    {
        span[r] = spans[min(row + r, s.rows - 1)];
    }
    bool whole = true;
    clear_sums(sum);
    for (int tap = 0; tap < s.taps; tap++, panel += s.in * TILE_N) {
        global const float *a[MR];
        EACH_ROW(r)
        {
            const int from = row + r + tap - s.before;
            const bool inside = from >= span[r].x && from < span[r].y;
            a[r] = inside ? x + (size_t)from * s.in : zeros;
            whole &= inside;
        }
        add_rows(sum, a, panel, s.in);
    }
    return whole;
}

/* Returns whether a sum is NaN or infinite. */
INLINE bool rows_lost(floatv sum[MR][2])
{
    intv lost = (intv)(0);
    EACH_ROW(r)
    {
        lost |= is_lostv(sum[r][0]) | is_lostv(sum[r][1]);
    }
    return any(lost);
}

/* Computes the rows of a tile again and stores them, over the taps inside each row's
 * sequence: weights of the others may hold anything. */
INLINE void store_inside(global const float *x, global const int2 *spans,
                         global const float *panel, int row, const conv_shape s,
                         target t)
{
    for (int r = 0; r < min(t.rows, MR); r++, t.y += t.stride) {
        const int first = row + r - s.before;
        const int2 span = spans[row + r];
        for (int j = 0; j < min(t.columns, TILE_N); j++) {
            float sum = t.bias ? t.bias[j] : 0.0f;
            for (int tap = max(span.x - first, 0); tap < min(span.y - first, s.taps);
                 tap++) {
                for (int k = 0; k < s.in; k++) {
                    sum += x[(size_t)(first + tap) * s.in + k] *
                           panel[(tap * s.in + k) * TILE_N + j];
                }
            }
            sum = activate(sum, t.activation);
            t.y[j] = t.add ? t.y[j] + sum : sum;
        }
    }
}

// y (+)= act(b + sum over u of x[n + u - before] w[u])
WORK_GROUP(1, 1, 1)
kernel void conv1d_rows(global float *restrict y, global const float *restrict x,
                        global const float *restrict panels,
                        global const float *restrict bias,
                        global const int2 *restrict spans,
                        global const float *restrict zeros, conv_shape s, int add)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int o = 0; o < s.out; o += TILE_N, panels += s.taps * s.in * TILE_N) {
        for (int row = first; row < last; row += MR) {
            floatv sum[MR][2];
            const bool whole = convolve(sum, x, spans, zeros, panels, row, s);
            const target t = { y + (size_t)row * s.out + o,
                               bias ? bias + o : 0,
                               s.out,
                               last - row,
                               s.out - o,
                               s.activation,
                               add };
            if (!whole && rows_lost(sum)) { // perhaps 0 times NaN or infinity
                store_inside(x, spans, panels, row, s, t);
            } else if (t.rows >= MR && t.columns >= TILE_N) {
                store_whole(sum, t);
            } else {
                store_edge(sum, t);
            }
        }
    }
}

#define BLOCK 64 // rows of a panel of gradients

/* Packs up to TILE_N columns of some rows as a panel, with zeros past the last. */
INLINE void pack_block(float *to, global const float *g, int rows, int columns,
                       int stride)
{
    for (int r = 0; r < rows; r++, g += stride, to += TILE_N) {
        if (columns >= TILE_N) {
            storev(loadv(0, g), 0, to);
            storev(loadv(1, g), 1, to);
            continue;
        }
        for (int j = 0; j < TILE_N; j++) {
            to[j] = j < columns ? g[j] : 0.0f;
        }
    }
}

/* sum += over rows first .. last-1 of x[row + shift]' g[row], inside the sequences. */
INLINE void gather(floatv sum[MR][2], global const float *x, const int at[MR],
                   const float *g, global const int2 *spans, int first, int last,
                   int shift, int in)
{
    for (int row = first; row < last;) {
        const int2 span = spans[row];
        const int from = max(row, span.x - shift);
        const int to = min(min(span.y, last), span.y - shift);
        add_columns(sum, x + (size_t)(from + shift) * in, in, at,
                    g + (from - first) * TILE_N, TILE_N, to - from);
        row = max(span.y, row + 1); // llvmpipe's idle lanes read 0 and must end too
    }
}

// partial[run, tap] = sum over the run's rows of x[row + tap - before]' g[row]
WORK_GROUP(1, 1, 1)
kernel void conv1d_weights(global float *restrict partial,
                           global const float *restrict x,
                           global const float *restrict g,
                           global const int2 *restrict spans, conv_shape s)
{
    float panel[BLOCK * TILE_N];
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    const int shift = GROUP(1) - s.before;
    const int width = (s.out + TILE_N - 1) / TILE_N * TILE_N;
    partial += ((size_t)GROUP(0) * s.taps + GROUP(1)) * s.in * width;
    for (int row = first; row < last; row += BLOCK) {
        const int end = min(row + BLOCK, last);
        for (int o = 0; o < s.out; o += TILE_N) {
            pack_block(panel, g + (size_t)row * s.out + o, end - row, s.out - o, s.out);
            for (int c = 0; c < s.in; c += MR) {
                floatv sum[MR][2];
                int at[MR];
                EACH_ROW(r)
                {
                    at[r] = min(c + r, s.in - 1);
                    global const float *old = partial + (size_t)at[r] * width + o;
                    sum[r][0] = row > first ? loadv(0, old) : (floatv)(0.0f);
                    sum[r][1] = row > first ? loadv(1, old) : (floatv)(0.0f);
                }
                gather(sum, x, at, panel, spans, row, end, shift, s.in);
                EACH_ROW(r)
                {
                    global float *to = partial + (size_t)at[r] * width + o;
                    storev(sum[r][0], 0, to);
                    storev(sum[r][1], 1, to);
                }
            }
        }
    }
}
