/* conv_rows.cl - rows of maps of convolved attention: their softmax, slopes and
 * gradients, where no product and no filter does them on its way.
 *
 * Layout: as conv_attention_2d.cl; partials [pairs,rows,tiles], of a row's tile of
 * columns its maximum and the sum of exp(s - maximum).
 * Work-group: WG items: one for each number, or TEAM for each row.
 * Defines: WG, 64 to 256.
 * Local: WG floats.
 * Numerics: softmax subtracts the row's maximum; all sums in a fixed order.
 * Writes: rows first..last-1 of a band with zeros around the map; lse if not null. */
#include "conv_band.clh"

#ifndef WG
#define WG 128
#endif
#include "conv_team.clh"

// lse from partial maxima and sums of tiles of `side` columns; see keep_row
WORK_GROUP(WG, 1, 1)
kernel void conv_merge(global float *restrict lse,
                       global const float2 *restrict partials,
                       global const int *restrict offsets, conv_band m, int tokens,
                       int tiles, int side)
{
    const pair_map t = find_pair(m, offsets);
    const int n = GROUP(0) * WG + LANE(0), i = m.first + n;
    const int own = i < min(m.last, t.length) ? (t.length + side - 1) / side : 0;
    partials +=
        ((size_t)GROUP(2) * (size_t)(m.last - m.first) + (size_t)n) * (size_t)tiles;
    float top = SCORE_MIN, sum = 0.0f;
    for (int j = 0; j < own; j++) {
        top = fmax(top, partials[j].x);
    }
    for (int j = 0; j < own; j++) {
        sum += partials[j].y * exp(partials[j].x - top);
    }
    if (own > 0) {
        keep_row(lse + (size_t)t.head * (size_t)tokens + (size_t)(t.start + i),
                 (size_t)m.heads * (size_t)tokens, top, sum);
    }
}

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
