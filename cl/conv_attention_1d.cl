/* conv_attention_1d.cl - attention with filters over its maps, in steps, for GPUs.
 *
 * Layout: as attention.clh and conv_attention_1d.clh; maps p (after the softmax) and y
 * (after the filter), flow (gradient of what the activation saw) and drain (of scores);
 * partial [runs,H,3*t+1,line].
 * Work-group: 64 items to 32 x 32 results; grid (squares, H, B), of the sums for w
 * (squares, 3 H, runs). Kernels of rows: WG items to one.
 * Defines: WIDTH = d; WG, a power of two.
 * Local: 2 tiles of 16 x 33 floats.
 * Numerics: f32; the row's maximum is subtracted; rows and sequences in order.
 * Writes: maps in their T x T parts; o, lse, partial whole; dq, dk, dv, dw, db whole
 * (added to when asked). */
#include "conv_attention_1d.clh"
#include "product_group.clh"

#ifndef WIDTH
#define WIDTH 64
#endif
#ifndef WG
#define WG 64
#endif

/* The square that a group has of a result with columns columns: its first row and
 * column, and its sequence. */
typedef struct square {
    int i, j, h, first, T;
} square;

INLINE square square_of(global const int *offsets, int columns)
{
    const int across = (columns + SIDE - 1) / SIDE;
    square q;
    q.i = GROUP(0) / across * SIDE;
    q.j = GROUP(0) % across * SIDE;
    q.h = GROUP(1);
    q.first = offsets[GROUP(2)];
    q.T = offsets[GROUP(2) + 1] - q.first;
    return q;
}

/* to[k][n] = from[row + n][column + k], n < rows, k < columns, zeros from there on. */
INLINE void load_turned(local float *to, global const float *from, size_t stride,
                        int row, int rows, int column, int columns)
{
    for (int e = LANE(0); e < SIDE * DEPTH; e += ITEMS) {
        const int n = e / DEPTH, k = e % DEPTH;
        const int inside = row + n >= 0 && row + n < rows && column + k < columns;
        to[k * STEP + n] =
            inside ? from[(size_t)(row + n) * stride + (size_t)(column + k)] : 0.0f;
    }
}

/* to[k][n] = from[row + k][column + n], likewise. */
INLINE void load_straight(local float *to, global const float *from, size_t stride,
                          int row, int rows, int column, int columns)
{
    for (int e = LANE(0); e < SIDE * DEPTH; e += ITEMS) {
        const int k = e / SIDE, n = e % SIDE;
        const int inside = row + k >= 0 && row + k < rows && column + n < columns;
        to[k * STEP + n] =
            inside ? from[(size_t)(row + k) * stride + (size_t)(column + n)] : 0.0f;
    }
}

/* The row and the column of an item's result (i,j) in its square. */
INLINE int row_of(int i)
{
    return LANE(0) / 8 * 4 + i;
}
INLINE int column_of(int j)
{
    return LANE(0) % 8 * 4 + j;
}

// map[i][j] = scale <x_i, y_j> act'(slopes[i][j]); slopes may be null
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_attention_1d_scores(global float *map, global const float *restrict x,
                                     global const float *restrict y,
                                     global const float *slopes,
                                     global const int *restrict offsets,
                                     attention_args a, table_args s, int longest,
                                     int values)
{
    local float left[TILE], right[TILE];
    const square q = square_of(offsets, longest);
    const size_t x_stride = values ? (size_t)a.heads * WIDTH : (size_t)a.q_stride;
    const size_t y_stride = values ? (size_t)a.v_stride : (size_t)a.k_stride;
    x += values ? o_row(a, q.first, q.h, WIDTH) : q_row(a, q.first, q.h, WIDTH);
    y += values ? v_row(a, q.first, q.h, WIDTH) : k_row(a, q.first, q.h, WIDTH);
    float sum[4][4];
    clear_sums(sum);
    for (int c = 0; c < WIDTH; c += DEPTH) {
        load_turned(left, x, x_stride, q.i, q.T, c, WIDTH);
        load_turned(right, y, y_stride, q.j, q.T, c, WIDTH);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(sum, left, right, LANE(0));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const int row = q.i + row_of(i), column = q.j + column_of(j);
            if (row < q.T && column < q.T) {
                const size_t at = map_row(a, s, q.first + row, q.h) + column;
                const float slope =
                    slopes ? table_slope(slopes[at], s.activation) : 1.0f;
                map[at] = sum[i][j] * (values ? 1.0f : a.scale) * slope;
            }
        }
    }
}

// p = softmax of its rows in place; grid (N, H); lse may be null
WORK_GROUP(WG, 1, 1)
kernel void conv_attention_1d_softmax(global float *p, global float *lse,
                                      global const int2 *restrict spans,
                                      attention_args a, table_args s)
{
    local float scratch[WG];
    const int lid = LANE(0), n = GROUP(0), h = GROUP(1), T = spans[n].y - spans[n].x;
    p += map_row(a, s, n, h);
    float top = SCORE_MIN, sum = 0.0f;
    for (int j = lid; j < T; j += WG) {
        top = fmax(top, p[j]);
    }
    top = group_max(top, scratch, lid, WG);
    for (int j = lid; j < T; j += WG) {
        p[j] = exp(p[j] - top);
        sum += p[j];
    }
    sum = group_sum(sum, scratch, lid, WG);
    for (int j = lid; j < T; j += WG) {
        p[j] /= sum;
    }
    if (lse && lid == 0) {
        lse[statistic(a, n, h)] = top + log(sum);
    }
}

// drain = p (drain - <drain, p>) scale in rows, in place; grid (N, H)
WORK_GROUP(WG, 1, 1)
kernel void conv_attention_1d_softmax_back(global float *drain,
                                           global const float *restrict p,
                                           global const int2 *restrict spans,
                                           attention_args a, table_args s)
{
    local float scratch[WG];
    const int lid = LANE(0), n = GROUP(0), h = GROUP(1), T = spans[n].y - spans[n].x;
    const size_t at = map_row(a, s, n, h);
    float dot = 0.0f;
    for (int j = lid; j < T; j += WG) {
        dot += p[at + j] * drain[at + j];
    }
    dot = group_sum(dot, scratch, lid, WG);
    for (int j = lid; j < T; j += WG) {
        drain[at + j] = p[at + j] * (drain[at + j] - dot) * a.scale;
    }
}

// to[i] = act(b + sum over u of map[i + u - 1] w[u]); without b the way back: to[i] =
// sum over u of map[i - u + 1] w[u]'
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_attention_1d_filter(global float *restrict to,
                                     global const float *restrict map,
                                     global const float *restrict w,
                                     global const float *restrict b,
                                     global const int *restrict offsets,
                                     attention_args a, table_args s, int longest)
{
    local float left[TILE], right[TILE];
    const square q = square_of(offsets, longest);
    global const float *from = map + map_row(a, s, q.first, q.h);
    float sum[4][4];
    clear_sums(sum);
    for (int u = 0; u < SHIFTS; u++) {
        global const float *wu = w + ((size_t)q.h * SHIFTS + u) * s.t * s.t;
        for (int c = 0; c < longest; c += DEPTH) {
            load_turned(left, from, (size_t)s.line, q.i + (b ? u - 1 : 1 - u), q.T, c,
                        q.T);
            if (b) {
                load_straight(right, wu, (size_t)s.t, c, q.T, q.j, q.T);
            } else {
                load_turned(right, wu, (size_t)s.t, q.j, q.T, c, q.T);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            product_step(sum, left, right, LANE(0));
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const int row = q.i + row_of(i), column = q.j + column_of(j);
            if (row < q.T && column < q.T) {
                const float x = sum[i][j] + (b ? b[q.h * s.t + column] : 0.0f);
                to[map_row(a, s, q.first + row, q.h) + column] =
                    b ? table_activate(x, s.activation) : x;
            }
        }
    }
}

/* Rows of a tensor with heads: where they begin and how far they lie apart. */
typedef struct rows_of {
    int at, stride;
} rows_of;

// out_i (+)= sum over j of map[i][j] x_j; turned: of map[j][i] x_j
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_attention_1d_mix(global float *restrict out,
                                  global const float *restrict map,
                                  global const float *restrict x,
                                  global const int *restrict offsets, attention_args a,
                                  table_args s, rows_of to, rows_of from, int longest,
                                  int turned, int add)
{
    local float left[TILE], right[TILE];
    const square q = square_of(offsets, WIDTH);
    map += map_row(a, s, q.first, q.h);
    x += from.at + (size_t)q.first * (size_t)from.stride + q.h * WIDTH;
    out += to.at + (size_t)q.first * (size_t)to.stride + q.h * WIDTH;
    float sum[4][4];
    clear_sums(sum);
    for (int k = 0; k < longest; k += DEPTH) {
        if (turned) {
            load_straight(left, map, (size_t)s.line, k, q.T, q.i, q.T);
        } else {
            load_turned(left, map, (size_t)s.line, q.i, q.T, k, q.T);
        }
        load_straight(right, x, (size_t)from.stride, k, q.T, q.j, WIDTH);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(sum, left, right, LANE(0));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const int row = q.i + row_of(i), column = q.j + column_of(j);
            if (row < q.T && column < WIDTH) {
                const size_t at = (size_t)row * (size_t)to.stride + (size_t)column;
                out[at] = add ? out[at] + sum[i][j] : sum[i][j];
            }
        }
    }
}

// partial[run,h,u] = sums for w[h,u] over the run's sequences
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_attention_1d_weights(global float *restrict partial,
                                      global const float *restrict p,
                                      global const float *restrict flow,
                                      global const int *restrict offsets,
                                      attention_args a, table_args s)
{
    local float left[TILE], right[TILE];
    const int across = (s.t + SIDE - 1) / SIDE;
    const int c = GROUP(0) / across * SIDE, o = GROUP(0) % across * SIDE;
    const int h = GROUP(1) / SHIFTS, u = GROUP(1) % SHIFTS, run = GROUP(2);
    float sum[4][4];
    clear_sums(sum);
    for (int b = run * s.run; b < min((run + 1) * s.run, s.sequences); b++) {
        const int T = offsets[b + 1] - offsets[b];
        const size_t at = map_row(a, s, offsets[b], h);
        for (int i = 0; i < T; i += DEPTH) {
            load_straight(left, p + at, (size_t)s.line, i + u - 1, T, c, T);
            load_straight(right, flow + at, (size_t)s.line, i, T, o, T);
            barrier(CLK_LOCAL_MEM_FENCE);
            product_step(sum, left, right, LANE(0));
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    partial += ((size_t)run * a.heads + h) * (SHIFTS * s.t + 1) * s.line;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const int row = c + row_of(i), column = o + column_of(j);
            if (row < s.t && column < s.t) {
                partial[(size_t)(u * s.t + row) * s.line + column] = sum[i][j];
            }
        }
    }
}

// the last row of partial[run,h] = sums for b[h]; grid (columns, H, runs)
WORK_GROUP(WG, 1, 1)
kernel void conv_attention_1d_bias(global float *restrict partial,
                                   global const float *restrict flow,
                                   global const int *restrict offsets, attention_args a,
                                   table_args s)
{
    const int j = GROUP(0) * WG + LANE(0), h = GROUP(1), run = GROUP(2);
    float sum = 0.0f;
    for (int b = run * s.run; b < min((run + 1) * s.run, s.sequences); b++) {
        const int T = offsets[b + 1] - offsets[b];
        for (int i = 0; i < T && j < T; i++) {
            sum += flow[map_row(a, s, offsets[b] + i, h) + j];
        }
    }
    if (j < s.t) {
        const size_t rows = SHIFTS * s.t + 1;
        partial[(((size_t)run * a.heads + h + 1) * rows - 1) * s.line + j] = sum;
    }
}

// dw, db (+)= sums of partial over the runs; either may be null; for both schedules
WORK_GROUP(WG, 1, 1)
kernel void conv_attention_1d_sum(global float *restrict dw, global float *restrict db,
                                  global const float *restrict partial,
                                  attention_args a, table_args s, int runs, int add_w,
                                  int add_b)
{
    const int rows = SHIFTS * s.t + 1, i = GROUP(0) * WG + LANE(0);
    const int h = i / (rows * s.t), row = i / s.t % rows, column = i % s.t;
    if (h < a.heads) {
        float sum = 0.0f;
        for (int run = 0; run < runs; run++) {
            sum +=
                partial[(((size_t)run * a.heads + h) * rows + row) * s.line + column];
        }
        if (row == SHIFTS * s.t && db) {
            const int at = h * s.t + column;
            db[at] = add_b ? db[at] + sum : sum;
        }
        if (row < SHIFTS * s.t && dw) {
            const size_t at = ((size_t)h * SHIFTS * s.t + row) * s.t + column;
            dw[at] = add_w ? dw[at] + sum : sum;
        }
    }
}
