/* conv_attention_2d.cl - convolved attention in launches over bands of rows of many
 * maps.
 *
 * The host goes down the rows in steps: scores, softmax, filter, product with the
 * values; and their gradients. Between launches a band holds the rows that the filter
 * needs around the step (a ring; or, for the form by FFT, whole padded maps).
 *
 * Layout: x, y, out of products as q, k, v, o in attention.clh; bands [pairs,size], a
 * pair being (sequence, head); lse [2,H,N]; w [H,kh,kw]; b [H]; sums [B*H,kh*kw+1].
 * Work-group: products: 64 items for TM x TN results, see product_group.clh; others: WG
 * items.
 * Defines: WG, 64 to 256; those of product_group.clh.
 * Local: 16 (TM + TN + 8) floats.
 * Numerics: softmax subtracts the row's maximum; the backward pass recomputes the map
 * from what lse keeps; all sums in a fixed order.
 * Writes: rows first..last-1 of a band with zeros around the map; out by mode.
 * Source: Dufter et al. 2020, convoluted attention. */
#include "conv_band.clh"
#include "product_group.clh"

#ifndef WG
#define WG 128
#endif
#define TEAM 16

/* ---- products ------------------------------------------------------------------ */

/* Return the rows of a map's tokens, and the rows of a band, as operands. */
INLINE matrix rows_of(global const float *x, int at, int stride, pair_map t,
                      conv_tokens r)
{
    return matrix_of(x + (size_t)at + (size_t)t.start * (size_t)stride +
                         (size_t)(t.head * r.width),
                     stride, t.length, r.width);
}
INLINE matrix rows_in(sheet strip, int last, int columns)
{
    matrix m = matrix_of(strip.at, strip.line, last, columns);
    m.mask = strip.mask;
    return m;
}

INLINE global float *out_of(global float *out, pair_map t, conv_tokens r)
{
    return out + (size_t)r.x_at + (size_t)t.start * (size_t)r.x_stride +
           (size_t)(t.head * r.width);
}

// out[i][j] = scale <x_i, y_j>
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_score(global float *restrict out, global const float *restrict x,
                       global const float *restrict y,
                       global const int *restrict offsets, conv_band m, conv_tokens r)
{
    local float ta[A_SIZE] __attribute__((aligned(16)));
    local float tb[B_SIZE] __attribute__((aligned(16)));
    const pair_map t = find_pair(m, offsets);
    const sheet to = band_of(out, m);
    const int last = min(m.last, t.length);
    const int i = m.first + GROUP(1) * TM, j = GROUP(0) * TN;
    const matrix rows = rows_of(x, r.x_at, r.x_stride, t, r);
    const matrix columns = rows_of(y, r.y_at, r.y_stride, t, r);
    const int depth = i < last && j < t.length ? r.width : 0;
    sums sum;
    sums_clear(&sum);
    for (int c = 0; TOGETHER(c < depth); c += DEPTH) {
        load_turned(ta, TM, rows, i, c);
        load_turned(tb, TN, columns, j, c);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, ta, tb);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#define SCORE(z, row, column)                                    \
    quad_store(sheet_row(to, i + row) + j + column, r.scale * z, \
               i + row < last ? t.length - j - column : 0, false);
    EACH_ROW(SCORE, sum)
}

// out_i = scale sum_j strip[i][j] y_j
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_mix(global float *restrict out, global float *restrict strips,
                     global const float *restrict y, global const int *restrict offsets,
                     conv_band m, conv_tokens r)
{
    local float ta[A_SIZE] __attribute__((aligned(16)));
    local float tb[B_SIZE] __attribute__((aligned(16)));
    const pair_map t = find_pair(m, offsets);
    const int last = min(m.last, t.length);
    const int i = m.first + GROUP(1) * TM, c = GROUP(0) * TN;
    const matrix weights = rows_in(band_of(strips, m), last, t.length);
    const matrix rows = rows_of(y, r.y_at, r.y_stride, t, r);
    sums sum;
    sums_clear(&sum);
    for (int j = 0; TOGETHER(j < (i < last ? t.length : 0)); j += DEPTH) {
        load_turned(ta, TM, weights, i, j);
        load_straight(tb, TN, rows, j, c);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, ta, tb);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out = out_of(out, t, r) + c;
#define MIX(z, row, column)                                                        \
    quad_store(out + (size_t)(i + row) * (size_t)r.x_stride + column, r.scale * z, \
               i + row < last ? r.width - c - column : 0, r.mode == GRAD_ADD);
    EACH_ROW(MIX, sum)
}

// out_j = scale sum_i strip[i][j] y_i
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_spread(global float *restrict out, global float *restrict strips,
                        global const float *restrict y,
                        global const int *restrict offsets, conv_band m, conv_tokens r)
{
    local float ta[A_SIZE] __attribute__((aligned(16)));
    local float tb[B_SIZE] __attribute__((aligned(16)));
    const pair_map t = find_pair(m, offsets);
    const int j = GROUP(1) * TM, c = GROUP(0) * TN;
    const int last = j < t.length ? min(m.last, t.length) : 0;
    const matrix weights = rows_in(band_of(strips, m), last, t.length);
    matrix rows = rows_of(y, r.y_at, r.y_stride, t, r);
    rows.last = last;
    sums sum;
    sums_clear(&sum);
    for (int i = m.first; TOGETHER(i < last); i += DEPTH) {
        load_straight(ta, TM, weights, i, j);
        load_straight(tb, TN, rows, i, c);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, ta, tb);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out = out_of(out, t, r) + c;
#define SPREAD(z, row, column)                                                     \
    quad_store(out + (size_t)(j + row) * (size_t)r.x_stride + column, r.scale * z, \
               j + row < t.length ? r.width - c - column : 0, r.mode == GRAD_ADD);
    EACH_ROW(SPREAD, sum)
}

/* ---- rows of a map ------------------------------------------------------------- */

/* Sum (or maximum) over the TEAM items that share a row. */
#define TEAM_REDUCE(name, combine)                                         \
    INLINE float name(float x, local float *scratch)                       \
    {                                                                      \
        const int lane = LANE(0);                                          \
        scratch[lane] = x;                                                 \
        barrier(CLK_LOCAL_MEM_FENCE);                                      \
        for (int s = TEAM / 2; s > 0; s /= 2) {                            \
            if (lane % TEAM < s) {                                         \
                scratch[lane] = combine(scratch[lane], scratch[lane + s]); \
            }                                                              \
            barrier(CLK_LOCAL_MEM_FENCE);                                  \
        }                                                                  \
        const float result = scratch[lane / TEAM * TEAM];                  \
        barrier(CLK_LOCAL_MEM_FENCE);                                      \
        return result;                                                     \
    }
TEAM_REDUCE(team_sum, combine_sum)
TEAM_REDUCE(team_max, fmax)

// p = softmax of the scores; lse: see keep_row; zeros beyond the map
WORK_GROUP(WG, 1, 1)
kernel void conv_softmax(global float *restrict bands, global float *restrict lse,
                         global const int *restrict offsets, conv_band m, int tokens)
{
    local float scratch[WG];
    const pair_map t = find_pair(m, offsets);
    const int i = m.first + GROUP(0) * (WG / TEAM) + LANE(0) / TEAM,
              lane = LANE(0) % TEAM;
    const int length = i < t.length ? t.length : 0, end = i < m.last ? t.columns : 0;
    global float *row = sheet_row(band_of(bands, m), i);
    float top = SCORE_MIN, sum = 0.0f;
    for (int j = lane; j < min(length, end); j += TEAM) {
        top = fmax(top, row[j]);
    }
    top = team_max(top, scratch);
    for (int j = lane; j < min(length, end); j += TEAM) {
        sum += exp(row[j] - top);
    }
    sum = team_sum(sum, scratch);
    const bool keeps = lse && lane == 0 && i < min(t.length, m.last);
    const size_t at = (size_t)t.head * (size_t)tokens + (size_t)(t.start + i);
    const float share =
        keep_row(keeps ? lse + at : 0, (size_t)m.heads * (size_t)tokens, top, sum);
    for (int j = lane; j < end; j += TEAM) {
        row[j] = j < length ? exp(row[j] - top) * share : 0.0f;
    }
}

// p = exp(s - m) / sum, from what lse keeps; zeros beyond the map
WORK_GROUP(WG, 1, 1)
kernel void conv_weigh(global float *restrict bands, global const float *restrict lse,
                       global const int *restrict offsets, conv_band m, int tokens)
{
    const pair_map t = find_pair(m, offsets);
    const int n = GROUP(0) * WG + LANE(0), i = m.first + n / t.columns,
              j = n % t.columns;
    if (i < m.last) {
        global float *p = sheet_row(band_of(bands, m), i) + j;
        const bool inside = i < t.length && j < t.length;
        const size_t plane = (size_t)m.heads * (size_t)tokens;
        lse += (size_t)t.head * (size_t)tokens + (size_t)(t.start + i);
        *p = inside ? exp(*p - lse[0]) * lse[plane] : 0.0f;
    }
}

// y = act(y + b) in place
WORK_GROUP(WG, 1, 1)
kernel void conv_activate(global float *restrict bands, global const float *restrict b,
                          global const int *restrict offsets, conv_band m,
                          int activation)
{
    const pair_map t = find_pair(m, offsets);
    const int n = GROUP(0) * WG + LANE(0), i = m.first + n / t.columns,
              j = n % t.columns;
    if (i < min(m.last, t.length) && j < t.length) {
        global float *y = sheet_row(band_of(bands, m), i) + j;
        *y = activate(*y + b[t.head], activation);
    }
}

// dy *= act'(y), from the activated y; zeros beyond the map
WORK_GROUP(WG, 1, 1)
kernel void conv_slope(global float *restrict slopes, global float *restrict strips,
                       global const int *restrict offsets, conv_band m, int activation)
{
    const pair_map t = find_pair(m, offsets);
    const int n = GROUP(0) * WG + LANE(0), i = m.first + n / t.columns,
              j = n % t.columns;
    if (i < m.last) {
        global float *g = sheet_row(band_of(slopes, m), i) + j;
        if (i >= t.length || j >= t.length) {
            *g = 0.0f;
        } else {
            *g *= activation_slope(sheet_row(band_of(strips, m), i)[j], activation);
        }
    }
}

// da = p * (dp - sum_j dp * p) in place of dp
WORK_GROUP(WG, 1, 1)
kernel void conv_softmax_back(global float *restrict strips,
                              global float *restrict maps,
                              global const int *restrict offsets, conv_band m)
{
    local float scratch[WG];
    const pair_map t = find_pair(m, offsets);
    const int i = m.first + GROUP(0) * (WG / TEAM) + LANE(0) / TEAM,
              lane = LANE(0) % TEAM;
    const int length = i < min(m.last, t.length) ? t.length : 0;
    global float *to = sheet_row(band_of(strips, m), i);
    global const float *p = sheet_row(band_of(maps, m), i);
    float sum = 0.0f;
    for (int j = lane; j < length; j += TEAM) {
        sum += to[j] * p[j];
    }
    sum = team_sum(sum, scratch);
    for (int j = lane; j < length; j += TEAM) {
        to[j] = p[j] * (to[j] - sum);
    }
}
