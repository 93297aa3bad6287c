/* conv_attention_1d.cl - attention with filters over its maps, for GPUs: one launch a
 * step.
 *
 * Layout: as attention.clh and conv_attention_1d.clh; maps p (after the softmax) and y
 * (after the filter), flow (gradient of the activation's input) and drain (gradient of
 * scores); partial [runs,H,3*t+1,line].
 * Work-group: 64 items for TM x TN results, see product_group.clh; grid (tiles, H, B),
 * for the sums of dw (tiles, 3 H, runs). Softmax kernels: WG items for each row.
 * Defines: WIDTH = d; WG, a power of two; those of product_group.clh.
 * Local: 16 (TM + TN + 8) floats.
 * Numerics: f32; the row's maximum is subtracted; rows and sequences in order.
 * Writes: maps in their T x T parts; o, partial whole; dq, dk, dv, dw, db whole
 * (added to if their add flag is set). */
#include "conv_attention_1d.clh"
#include "product_group.clh"

#ifndef WIDTH
#define WIDTH 64
#endif
#ifndef WG
#define WG 64
#endif

/* A group's tile of a result: its first row and column, its head, and the first token
 * and the length of its sequence. */
typedef struct place {
    int i, j, h, first, T;
} place;

INLINE place place_of(global const int *offsets, int columns)
{
    const int across = (columns + TN - 1) / TN;
    place q;
    q.i = GROUP(0) / across * TM;
    q.j = GROUP(0) % across * TN;
    q.h = GROUP(1);
    q.first = offsets[GROUP(2)];
    q.T = offsets[GROUP(2) + 1] - q.first;
    return q;
}

/* Returns how many columns are left from a tile's quad on; 0 or less for none, and 0
 * below the last row. */
INLINE int left_of(place q, int row, int column, int columns)
{
    return q.i + row < q.T ? columns - q.j - column : 0;
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
    local float left[A_SIZE] __attribute__((aligned(16)));
    local float right[B_SIZE] __attribute__((aligned(16)));
    const place q = place_of(offsets, longest);
    x += values ? o_row(a, q.first, q.h, WIDTH) : q_row(a, q.first, q.h, WIDTH);
    y += values ? v_row(a, q.first, q.h, WIDTH) : k_row(a, q.first, q.h, WIDTH);
    const matrix rows = matrix_of(x, values ? a.heads * WIDTH : a.q_stride, q.T, WIDTH);
    const matrix columns = matrix_of(y, values ? a.v_stride : a.k_stride, q.T, WIDTH);
    const int depth = q.i < q.T && q.j < q.T ? WIDTH : 0;
    sums sum;
    sums_clear(&sum);
    for (int c = 0; TOGETHER(c < depth); c += DEPTH) {
        load_turned(left, TM, rows, q.i, c);
        load_turned(right, TN, columns, q.j, c);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, left, right);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    map += map_row(a, s, q.first, q.h);
    slopes += slopes ? map_row(a, s, q.first, q.h) : 0;
    const float scale = values ? 1.0f : a.scale;
#define STORE(z, row, column)                                                     \
    {                                                                             \
        const int left = left_of(q, row, column, q.T);                            \
        const size_t at = (size_t)(q.i + row) * s.line + q.j + column;            \
        float4 slope = (float4)(scale);                                           \
        if (slopes && left > 0) {                                                 \
            slope *= activation_slope4(quad_at(slopes + at, left), s.activation); \
        }                                                                         \
        quad_store(map + at, z * slope, left, false);                             \
    }
    EACH_ROW(STORE, sum)
}

// p = softmax of its rows in place; grid (N, H)
WORK_GROUP(WG, 1, 1)
kernel void conv_attention_1d_softmax(global float *p,
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
    const float share = sum == 0.0f ? 0.0f : 1.0f / sum; // 0: scores of -inf alone
    for (int j = lid; j < T; j += WG) {
        p[j] *= share;
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

// to[i] = act(b + sum over u of map[i + u - 1] w[u]); without b for the gradient: to[i]
// = sum over u of map[i - u + 1] w[u]'
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_attention_1d_filter(global float *restrict to,
                                     global const float *restrict map,
                                     global const float *restrict w,
                                     global const float *restrict b,
                                     global const int *restrict offsets,
                                     attention_args a, table_args s, int longest)
{
    local float left[A_SIZE] __attribute__((aligned(16)));
    local float right[B_SIZE] __attribute__((aligned(16)));
    const place q = place_of(offsets, longest);
    const matrix from = matrix_of(map + map_row(a, s, q.first, q.h), s.line, q.T, q.T);
    const int depth = q.i < q.T && q.j < q.T ? q.T : 0;
    sums sum;
    sums_clear(&sum);
    for (int u = 0; u < SHIFTS; u++) {
        const matrix wu =
            matrix_of(w + ((size_t)q.h * SHIFTS + u) * s.t * s.t, s.t, q.T, q.T);
        for (int c = 0; TOGETHER(c < depth); c += DEPTH) {
            load_turned(left, TM, from, q.i + (b ? u - 1 : 1 - u), c);
            if (b) {
                load_straight(right, TN, wu, c, q.j);
            } else {
                load_turned(right, TN, wu, q.j, c);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            product_step(&sum, left, right);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    to += map_row(a, s, q.first, q.h);
    b += b ? q.h * s.t + q.j : 0;
#define FILTER(z, row, column)                                                        \
    {                                                                                 \
        const int left = left_of(q, row, column, q.T);                                \
        float4 y = z;                                                                 \
        if (b && left > 0) {                                                          \
            y = activate4(y + quad_at(b + column, left), s.activation);               \
        }                                                                             \
        quad_store(to + (size_t)(q.i + row) * s.line + q.j + column, y, left, false); \
    }
    EACH_ROW(FILTER, sum)
}

// out_i (+)= sum over j of map[i][j] x_j; turned: of map[j][i] x_j
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_attention_1d_mix(global float *restrict out,
                                  global const float *restrict map,
                                  global const float *restrict x,
                                  global const int *restrict offsets, attention_args a,
                                  table_args s, rows_of to, rows_of from, int turned,
                                  int add)
{
    local float left[A_SIZE] __attribute__((aligned(16)));
    local float right[B_SIZE] __attribute__((aligned(16)));
    const place q = place_of(offsets, WIDTH);
    const matrix weights =
        matrix_of(map + map_row(a, s, q.first, q.h), s.line, q.T, q.T);
    const matrix rows =
        matrix_of(x + from.at + (size_t)q.first * (size_t)from.stride + q.h * WIDTH,
                  from.stride, q.T, WIDTH);
    sums sum;
    sums_clear(&sum);
    for (int k = 0; TOGETHER(k < (q.i < q.T ? q.T : 0)); k += DEPTH) {
        if (turned) {
            load_straight(left, TM, weights, k, q.i);
        } else {
            load_turned(left, TM, weights, q.i, k);
        }
        load_straight(right, TN, rows, k, q.j);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, left, right);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out += to.at + (size_t)q.first * (size_t)to.stride + q.h * WIDTH;
#define MIX(z, row, column)                                                     \
    quad_store(out + (size_t)(q.i + row) * (size_t)to.stride + q.j + column, z, \
               left_of(q, row, column, WIDTH), add);
    EACH_ROW(MIX, sum)
}

/* Returns the sum for w[h,u,c,o] over the run's sequences that use it; at names
 * it. */
INLINE float weight_sum(global const float *p, global const float *flow,
                        global const int *offsets, attention_args a, table_args s,
                        int4 at)
{
    const int first = GROUP(2) * s.run, last = min(first + s.run, s.sequences);
    float sum = 0.0f;
    for (int b = first; b < last; b++) {
        const int T = offsets[b + 1] - offsets[b], shift = at.y - 1;
        const size_t map = map_row(a, s, offsets[b], at.x);
        const int end = max(at.z, at.w) < T ? min(T, T - shift) : 0;
        for (int i = max(0, -shift); i < end; i++) {
            sum += p[map + (size_t)(i + shift) * s.line + at.z] *
                   flow[map + (size_t)i * s.line + at.w];
        }
    }
    return sum;
}

// partial[run,h,u] = sums for w[h,u] over the run's sequences
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_attention_1d_weights(global float *restrict partial,
                                      global const float *restrict p,
                                      global const float *restrict flow,
                                      global const int *restrict offsets,
                                      attention_args a, table_args s)
{
    local float left[A_SIZE] __attribute__((aligned(16)));
    local float right[B_SIZE] __attribute__((aligned(16)));
    const int across = (s.t + TN - 1) / TN;
    const int c = GROUP(0) / across * TM, o = GROUP(0) % across * TN;
    const int h = GROUP(1) / SHIFTS, u = GROUP(1) % SHIFTS, run = GROUP(2);
    sums sum;
    sums_clear(&sum);
    for (int b = run * s.run; TOGETHER(b < min((run + 1) * s.run, s.sequences)); b++) {
        const int T = offsets[b + 1] - offsets[b];
        const size_t at = map_row(a, s, offsets[b], h);
        const matrix seen = matrix_of(p + at, s.line, T, T);
        const matrix made = matrix_of(flow + at, s.line, T, T);
        for (int i = 0; TOGETHER(i < (c < T && o < T ? T : 0)); i += DEPTH) {
            load_straight(left, TM, seen, i + u - 1, c);
            load_straight(right, TN, made, i, o);
            barrier(CLK_LOCAL_MEM_FENCE);
            product_step(&sum, left, right);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    partial += (((size_t)run * a.heads + h) * (SHIFTS * s.t + 1) + u * s.t) * s.line;
    if (sums_lost(&sum)) { // perhaps past the end of a short sequence
        EACH_NUMBER(row, column)
        {
            if (c + row < s.t && o + column < s.t) {
                partial[(size_t)(c + row) * s.line + o + column] = weight_sum(
                    p, flow, offsets, a, s, (int4)(h, u, c + row, o + column));
            }
        }
        return;
    }
#define PARTIAL(z, row, column)                                      \
    quad_store(partial + (size_t)(c + row) * s.line + o + column, z, \
               c + row < s.t ? s.t - o - column : 0, false);
    EACH_ROW(PARTIAL, sum)
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
