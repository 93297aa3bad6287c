/* conv_band_tile.cl - the kernels over bands of conv_attention_2d.cl for CPU devices,
 * with rows of a map for each work-item; for the form by FFT.
 *
 * Layout: as there; operands of products are packed first: panels [pairs,size] of keys,
 * rows [pairs,size] of PAD columns, a whole sequence each.
 * Work-group: 1 item; ROWS rows (or columns, where a product runs over rows) of one
 * map.
 * Defines: WIDTH, VEC, MR, ROWS a multiple of MR.
 * Numerics: as conv_attention_2d_tile.cl.
 * Writes: as there. */
#include "conv_attention_2d_tile_rows.clh"

#ifndef ROWS
#define ROWS 48
#endif

/* Returns this item's rows of first..last-1. */
INLINE conv_item part_of(pair_map t, int first, int last)
{
    conv_item r;
    r.head = t.head;
    r.start = t.start;
    r.length = t.length;
    r.chunk = 0;
    r.first = min(first + GROUP(0) * ROWS, last);
    r.last = min(r.first + ROWS, last);
    return r;
}

INLINE global const float *tokens_of(global const float *x, pair_map t, conv_tokens r)
{
    return x + (size_t)r.y_at + (size_t)t.start * (size_t)r.y_stride +
           (size_t)(t.head * WIDTH);
}

INLINE global float *results_of(global float *x, pair_map t, conv_tokens r)
{
    return x + (size_t)r.x_at + (size_t)t.start * (size_t)r.x_stride +
           (size_t)(t.head * WIDTH);
}

// panels of scale * y
WORK_GROUP(1, 1, 1)
kernel void conv_pack_panels(global float *restrict panels,
                             global const float *restrict y,
                             global const int *restrict offsets, conv_band m,
                             conv_tokens r, int size)
{
    const pair_map t = find_pair(m, offsets);
    pack_panels(panels + (size_t)GROUP(2) * (size_t)size, tokens_of(y, t, r),
                r.y_stride, t.length, r.scale);
}

// rows of y, padded
WORK_GROUP(1, 1, 1)
kernel void conv_pack_rows(global float *restrict rows, global const float *restrict y,
                           global const int *restrict offsets, conv_band m,
                           conv_tokens r, int size)
{
    const pair_map t = find_pair(m, offsets);
    copy_rows(rows + (size_t)GROUP(2) * (size_t)size, tokens_of(y, t, r), r.y_stride, 0,
              t.length, t.length);
}

// out[i][j] = <x_i, y_j>, y scaled when packed
WORK_GROUP(1, 1, 1)
kernel void conv_score(global float *restrict out, global const float *restrict rows,
                       global const float *restrict panels,
                       global const int *restrict offsets, conv_band m, int rows_size,
                       int panels_size)
{
    const pair_map t = find_pair(m, offsets);
    const conv_item p = part_of(t, m.first, min(m.last, t.length));
    score_rows(band_of(out, m),
               rows + (size_t)GROUP(2) * (size_t)rows_size + p.first * PAD, p.first,
               p.last, panels + (size_t)GROUP(2) * (size_t)panels_size, t.length);
}

// out_i = scale sum_j strip[i][j] y_j
WORK_GROUP(1, 1, 1)
kernel void conv_mix(global float *restrict out, global float *restrict strips,
                     global const float *restrict rows,
                     global const int *restrict offsets, conv_band m, conv_tokens r,
                     int size)
{
    const pair_map t = find_pair(m, offsets);
    const conv_item p = part_of(t, m.first, min(m.last, t.length));
    mix_rows(results_of(out, t, r) + (size_t)p.first * (size_t)r.x_stride, r.x_stride,
             sheet_row(band_of(strips, m), p.first), m.line, p.last - p.first,
             rows + (size_t)GROUP(2) * (size_t)size, t.length, r.scale, r.mode);
}

// out_j = scale sum_i strip[i][j] y_i
WORK_GROUP(1, 1, 1)
kernel void conv_spread(global float *restrict out, global float *restrict strips,
                        global const float *restrict rows, global float *restrict sums,
                        global const int *restrict offsets, conv_band m, conv_tokens r,
                        int size)
{
    const pair_map t = find_pair(m, offsets);
    const conv_item p = part_of(t, 0, t.length);
    sums += (size_t)GROUP(2) * (size_t)size + (size_t)(p.first * PAD);
    zero(sums, round_up(p.last - p.first, MR) * PAD);
    out = results_of(out, t, r) + (size_t)p.first * (size_t)r.x_stride;
    spread_rows(sums, sheet_row(band_of(strips, m), 0) + p.first, m.line,
                rows + (size_t)GROUP(2) * (size_t)size, t.length, p.last - p.first);
    store_sums(out, r.x_stride, sums, p.last - p.first, r.scale, r.mode);
}

// p = softmax of the scores; lse: see keep_row; zeros beyond the map
WORK_GROUP(1, 1, 1)
kernel void conv_softmax(global float *restrict bands, global float *restrict lse,
                         global const int *restrict offsets, conv_band m, int tokens)
{
    const pair_map t = find_pair(m, offsets);
    conv_item p = part_of(t, m.first, m.last);
    const sheet map = band_of(bands, m);
    const size_t at = (size_t)t.head * (size_t)tokens + (size_t)t.start;
    for (int i = p.first; i < p.last; i++) {
        const int length = i < t.length ? round_up(t.length, VEC) : 0;
        zero(sheet_row(map, i) + length, t.columns - length);
    }
    p.plane = (size_t)m.heads * (size_t)tokens;
    softmax_rows(map, p.first, min(p.last, t.length), p, lse ? lse + at : 0);
}

// p = exp(s - m) / sum, from what lse keeps; zeros beyond the map
WORK_GROUP(1, 1, 1)
kernel void conv_weigh(global float *restrict bands, global const float *restrict lse,
                       global const int *restrict offsets, conv_band m, int tokens)
{
    const pair_map t = find_pair(m, offsets);
    conv_item p = part_of(t, m.first, m.last);
    const sheet map = band_of(bands, m);
    const size_t at = (size_t)t.head * (size_t)tokens + (size_t)t.start;
    for (int i = p.first; i < p.last; i++) {
        const int length = i < t.length ? round_up(t.length, VEC) : 0;
        zero(sheet_row(map, i) + length, t.columns - length);
    }
    p.plane = (size_t)m.heads * (size_t)tokens;
    weigh_rows(map, p.first, min(p.last, t.length), p, lse + at);
}

// y = act(y + b) in place
WORK_GROUP(1, 1, 1)
kernel void conv_activate(global float *restrict bands, global const float *restrict b,
                          global const int *restrict offsets, conv_band m,
                          int activation)
{
    const pair_map t = find_pair(m, offsets);
    const conv_item p = part_of(t, m.first, min(m.last, t.length));
    const float bias = b[t.head];
    for (int i = p.first; i < p.last; i++) {
        global float *row = sheet_row(band_of(bands, m), i);
        for (int j = 0; j < t.length; j += VEC) {
            storev(activatev(loadv(0, row + j) + bias, activation), 0, row + j);
        }
    }
}

// dy *= act'(y), from the activated y; zeros beyond the map
WORK_GROUP(1, 1, 1)
kernel void conv_slope(global float *restrict slopes, global float *restrict strips,
                       global const int *restrict offsets, conv_band m, int activation)
{
    const pair_map t = find_pair(m, offsets);
    const conv_item p = part_of(t, m.first, m.last);
    const sheet dy = band_of(slopes, m);
    for (int i = p.first; i < p.last; i++) {
        const int length = i < t.length ? round_up(t.length, VEC) : 0;
        zero(sheet_row(dy, i) + length, t.columns - length);
    }
    slope_rows(dy, sheet_row(band_of(strips, m), p.first), m.line, p.first,
               min(p.last, t.length), t.length, activation);
}

// da = p * (dp - sum_j dp * p) in place of dp
WORK_GROUP(1, 1, 1)
kernel void conv_softmax_back(global float *restrict strips,
                              global float *restrict maps,
                              global const int *restrict offsets, conv_band m)
{
    const pair_map t = find_pair(m, offsets);
    const conv_item p = part_of(t, m.first, min(m.last, t.length));
    softmax_back_rows(sheet_row(band_of(strips, m), p.first), m.line, band_of(maps, m),
                      p.first, p.last, t.length);
}
