/* conv_attention_2d.cl - convolved attention in launches over bands of rows of all
 * maps.
 *
 * The host walks down the rows, a step of a band at a time: scores, softmax, filter,
 * product with the values; and back. Between launches a band holds the rows that the
 * filter needs around the step (a ring; or, for the form by FFT, whole padded maps).
 *
 * Layout: x, y, out of products as q, k, v, o in attention.clh; bands [pairs,size], a
 * pair being (sequence, head); lse [H,N]; w [H,kh,kw]; b [H]; sums [B*H,kh*kw+1].
 * Work-group: WG items; products share WG/4 rows by 64 columns, 4 x 4 an item.
 * Defines: WG, 64 to 256.
 * Numerics: softmax about the row's maximum; the map again from lse in the backward
 * pass; all sums in one order.
 * Writes: rows first..last-1 of a band with zeros around the map; out as mode says.
 * Source: Dufter et al. 2020, convoluted attention. */
#include "conv_band.clh"
#include "conv_product.clh"

#define CR   4 // rows an item filters
#define TAPS 3 // a group sums TAPS x TAPS of the filter's gradient
#define TEAM 16

/* ---- products ------------------------------------------------------------------ */

// out[i][j] = scale <x_i, y_j>
WORK_GROUP(WG, 1, 1)
kernel void conv_score(global float *restrict out, global const float *restrict x,
                       global const float *restrict y,
                       global const int *restrict offsets, conv_band m, conv_tokens r)
{
    local float ta[TK * (TM + 1)], tb[TK * TN];
    const pair_map t = find_pair(m, offsets);
    const sheet to = band_of(out, m);
    const int last = min(m.last, t.length);
    const int i = m.first + GROUP(1) * TM, j = GROUP(0) * TN;
    float4 sum[4] = { (float4)(0.0f), (float4)(0.0f), (float4)(0.0f), (float4)(0.0f) };
    x += (size_t)r.x_at + (size_t)t.start * (size_t)r.x_stride +
         (size_t)(t.head * r.width);
    y += (size_t)r.y_at + (size_t)t.start * (size_t)r.y_stride +
         (size_t)(t.head * r.width);
    const int depth = i < last && j < t.length ? r.width : 0;
    for (int c = 0; c < depth; c += TK) {
        barrier(CLK_LOCAL_MEM_FENCE);
        load_columns(ta, TM + 1, TM, x, r.x_stride, i, last, c, r.width);
        load_columns(tb, TN, TN, y, r.y_stride, j, t.length, c, r.width);
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply(sum, ta, tb);
    }
    for (int n = 0; n < 4; n++) {
        const int row = i + LANE(0) / (TN / 4) * 4 + n;
        if (row < last) {
            store_row(sheet_row(to, row), sum[n], j, t.length, r.scale, GRAD_WRITE);
        }
    }
}

// out_i = scale sum_j strip[i][j] y_j
WORK_GROUP(WG, 1, 1)
kernel void conv_mix(global float *restrict out, global float *restrict strips,
                     global const float *restrict y, global const int *restrict offsets,
                     conv_band m, conv_tokens r)
{
    local float ta[TK * (TM + 1)], tb[TK * TN];
    const pair_map t = find_pair(m, offsets);
    const sheet strip = band_of(strips, m);
    const int last = min(m.last, t.length);
    const int i = m.first + GROUP(1) * TM, c = GROUP(0) * TN;
    float4 sum[4] = { (float4)(0.0f), (float4)(0.0f), (float4)(0.0f), (float4)(0.0f) };
    out += (size_t)r.x_at + (size_t)t.start * (size_t)r.x_stride +
           (size_t)(t.head * r.width);
    y += (size_t)r.y_at + (size_t)t.start * (size_t)r.y_stride +
         (size_t)(t.head * r.width);
    const int depth = i < last ? t.length : 0;
    for (int j = 0; j < depth; j += TK) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = LANE(0); e < TK * TM; e += WG) {
            const int row = i + e / TK, column = j + e % TK;
            ta[e % TK * (TM + 1) + e / TK] =
                row < last && column < t.length ? sheet_row(strip, row)[column] : 0.0f;
        }
        load_rows(tb, y, r.y_stride, j, t.length, c, r.width);
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply(sum, ta, tb);
    }
    for (int n = 0; n < 4; n++) {
        const int row = i + LANE(0) / (TN / 4) * 4 + n;
        if (row < last) {
            store_row(out + (size_t)row * (size_t)r.x_stride, sum[n], c, r.width,
                      r.scale, r.mode);
        }
    }
}

// out_j = scale sum_i strip[i][j] y_i
WORK_GROUP(WG, 1, 1)
kernel void conv_spread(global float *restrict out, global float *restrict strips,
                        global const float *restrict y,
                        global const int *restrict offsets, conv_band m, conv_tokens r)
{
    local float ta[TK * (TM + 1)], tb[TK * TN];
    const pair_map t = find_pair(m, offsets);
    const sheet strip = band_of(strips, m);
    const int j = GROUP(1) * TM, c = GROUP(0) * TN;
    const int last = j < t.length ? min(m.last, t.length) : 0;
    float4 sum[4] = { (float4)(0.0f), (float4)(0.0f), (float4)(0.0f), (float4)(0.0f) };
    out += (size_t)r.x_at + (size_t)t.start * (size_t)r.x_stride +
           (size_t)(t.head * r.width);
    y += (size_t)r.y_at + (size_t)t.start * (size_t)r.y_stride +
         (size_t)(t.head * r.width);
    for (int i = m.first; i < last; i += TK) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = LANE(0); e < TK * TM; e += WG) {
            const int row = i + e / TM, column = j + e % TM;
            ta[e / TM * (TM + 1) + e % TM] =
                row < last && column < t.length ? sheet_row(strip, row)[column] : 0.0f;
        }
        load_rows(tb, y, r.y_stride, i, last, c, r.width);
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply(sum, ta, tb);
    }
    for (int n = 0; n < 4; n++) {
        const int row = j + LANE(0) / (TN / 4) * 4 + n;
        if (row < t.length) {
            store_row(out + (size_t)row * (size_t)r.x_stride, sum[n], c, r.width,
                      r.scale, r.mode);
        }
    }
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

// p = softmax of the scores; lse = m + ln(sum exp(s - m)); zeros beyond the map
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
    for (int j = lane; j < end; j += TEAM) {
        row[j] = j < length ? exp(row[j] - top) / sum : 0.0f;
    }
    if (lse && lane == 0 && i < min(t.length, m.last)) {
        lse[(size_t)t.head * (size_t)tokens + (size_t)(t.start + i)] = top + log(sum);
    }
}

// p = exp(s - lse); zeros beyond the map
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
        *p =
            inside
                ? exp(*p - lse[(size_t)t.head * (size_t)tokens + (size_t)(t.start + i)])
                : 0.0f;
    }
}

INLINE float activate(float x, int activation)
{
    if (activation == 1) {
        return fmax(x, 0.0f);
    }
    return activation == 2 ? tanh(x) : x;
}

// out[i][j] = act(b + sum w[u][v] in[i + u - kh/2][j + v - kw/2])
WORK_GROUP(WG, 1, 1)
kernel void conv_filter(global float *restrict out, global float *restrict in,
                        global const float *restrict w, global const float *restrict b,
                        global const int *restrict offsets, conv_band m, int turned,
                        int activation)
{
    const pair_map t = find_pair(m, offsets);
    const sheet from = band_of(in, m), to = band_of(out, m);
    const int n = GROUP(0) * WG + LANE(0), taps = m.kh * m.kw;
    const int i = m.first + n / t.columns * CR, j = n % t.columns;
    const int last = j < t.length ? min(m.last, t.length) : 0;
    const float bias = b ? b[t.head] : 0.0f;
    float sum[CR];
    for (int r = 0; r < CR; r++) {
        sum[r] = 0.0f;
    }
    w += (size_t)(t.head * taps);
    for (int u = 0; u < (i < last ? m.kh + CR - 1 : 0); u++) {
        global const float *x = sheet_row(from, i + u - m.kh / 2) + j - m.kw / 2;
        for (int r = 0; r < CR; r++) {
            const int tap = (u - r) * m.kw;
            for (int v = 0; v < (u >= r && u - r < m.kh ? m.kw : 0); v++) {
                sum[r] += x[v] * w[turned ? taps - 1 - tap - v : tap + v];
            }
        }
    }
    for (int r = 0; r < CR && i + r < last; r++) {
        sheet_row(to, i + r)[j] = activate(sum[r] + bias, activation);
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
        } else if (activation) {
            const float y = sheet_row(band_of(strips, m), i)[j];
            *g *= activation == 2 ? 1.0f - y * y : (y > 0.0f ? 1.0f : 0.0f);
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

/* ---- gradient of the filter ---------------------------------------------------- */

// sums[u][v] (+)= sum_ij dy[i][j] p[i + u - kh/2][j + v - kw/2]; the last (+)= sum dy
WORK_GROUP(WG, 1, 1)
kernel void conv_taps(global float *restrict sums, global float *restrict slopes,
                      global float *restrict maps, global const int *restrict offsets,
                      conv_band m, int add)
{
    local float scratch[WG];
    const pair_map t = find_pair(m, offsets);
    const sheet dy = band_of(slopes, m), p = band_of(maps, m);
    const int across = (m.kw + TAPS - 1) / TAPS;
    const int u = GROUP(0) / across * TAPS, v = GROUP(0) % across * TAPS;
    const int count = max(min(m.last, t.length) - m.first, 0) * t.length;
    float sum[TAPS * TAPS + 1];
    for (int n = 0; n <= TAPS * TAPS; n++) {
        sum[n] = 0.0f;
    }
    for (int n = LANE(0); n < count; n += WG) {
        const int i = m.first + n / t.length, j = n % t.length;
        const float y = sheet_row(dy, i)[j];
        for (int e = 0; e < TAPS * TAPS; e++) {
            const int du = min(u + e / TAPS, m.kh - 1),
                      dv = min(v + e % TAPS, m.kw - 1);
            sum[e] += y * sheet_row(p, i + du - m.kh / 2)[j + dv - m.kw / 2];
        }
        sum[TAPS * TAPS] += y;
    }
    sums += (size_t)t.index * (size_t)(m.kh * m.kw + 1);
    for (int n = 0; n <= TAPS * TAPS; n++) {
        const float total = group_sum(sum[n], scratch, LANE(0), WG);
        const bool tap = n < TAPS * TAPS && u + n / TAPS < m.kh && v + n % TAPS < m.kw;
        const bool bias = n == TAPS * TAPS && GROUP(0) == 0;
        if (LANE(0) == 0 && (tap || bias)) {
            global float *to =
                sums + (bias ? m.kh * m.kw : (u + n / TAPS) * m.kw + v + n % TAPS);
            *to = (add ? *to : 0.0f) + total;
        }
    }
}
