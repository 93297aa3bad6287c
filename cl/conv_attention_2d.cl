/* conv_attention_2d.cl - convolved attention in launches over rows of many maps: its
 * products, with what can be done to their sums on the way.
 *
 * The host goes through whole maps, or down their rows in steps where maps are large:
 * scores, filter, product with the values; and their gradients. Between launches a band
 * holds the maps, or the rows that the filter needs around the step (a ring); or, for
 * the form by FFT, whole padded maps.
 *
 * Layout: x, y, out of products as q, k, v, o in attention.clh; bands [pairs,size], a
 * pair being (sequence, head); lse [2,H,N]; partials as in conv_rows.cl.
 * Work-group: 64 items for TM x TN results, see product_group.clh.
 * Defines: those of product_group.clh.
 * Local: 16 (TM + TN + 8) floats.
 * Numerics: softmax subtracts the row's maximum; the backward pass recomputes the map
 * from what lse keeps; all sums in a fixed order.
 * Writes: rows first..last-1 of a band, columns of the map; out by mode.
 * Source: Dufter et al. 2020, convoluted attention. */
#include "conv_filter.clh"
#include "product_group.clh"

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

/* ---- scores -------------------------------------------------------------------- */

/* A group's place in a map: its first row and column, and the map's last ones. */
typedef struct score_place {
    int i, j, last;
} score_place;

INLINE score_place find_scores(conv_band m, pair_map t)
{
    score_place p;
    p.i = m.first + GROUP(1) * TM;
    p.j = GROUP(0) * TN;
    p.last = min(m.last, t.length);
    return p;
}

/* s[i][j] = scale <x_i, y_j> */
INLINE void score_sums(sums *s, local float *ta, local float *tb, matrix x, matrix y,
                       score_place p, conv_tokens r)
{
    const int depth = p.i < p.last && p.j < y.last ? r.width : 0;
    sums_clear(s);
    for (int c = 0; TOGETHER(c < depth); c += DEPTH) {
        load_turned(ta, TM, x, p.i, c);
        load_turned(tb, TN, y, p.j, c);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(s, ta, tb);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#define SCALE(z, row, column) z *= r.scale;
    EACH_ROW(SCALE, (*s))
}

#define SCORE_TILES                                                \
    local float ta[A_SIZE] __attribute__((aligned(16)));           \
    local float tb[B_SIZE] __attribute__((aligned(16)));           \
    const pair_map t = find_pair(m, offsets);                      \
    const sheet to = band_of(out, m);                              \
    const score_place p = find_scores(m, t);                       \
    sums sum;                                                      \
    score_sums(&sum, ta, tb, rows_of(x, r.x_at, r.x_stride, t, r), \
               rows_of(y, r.y_at, r.y_stride, t, r), p, r)

#define STORE_SCORE(z, row, column)                        \
    quad_store(sheet_row(to, p.i + row) + p.j + column, z, \
               p.i + row < p.last ? t.length - p.j - column : 0, false);

// out[i][j] = scale <x_i, y_j>
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_score(global float *restrict out, global const float *restrict x,
                       global const float *restrict y,
                       global const int *restrict offsets, conv_band m, conv_tokens r)
{
    SCORE_TILES;
    EACH_ROW(STORE_SCORE, sum)
}

/* Return the largest of the first `left` numbers, and the sum of their exp(z - top). */
INLINE float quad_top(float4 z, int left)
{
    z = select((float4)(SCORE_MIN), z, (int4)(0, 1, 2, 3) < (int4)(left));
    return fmax(fmax(z.x, z.y), fmax(z.z, z.w));
}
INLINE float quad_share(float4 z, float top, int left)
{
    z = select((float4)(0.0f), exp(z - top), (int4)(0, 1, 2, 3) < (int4)(left));
    return z.x + z.y + z.z + z.w;
}

/* The maxima of a row's items. */
INLINE float top_of(local const float *row)
{
    float top = SCORE_MIN;
    for (int n = 0; n < ACROSS; n++) {
        top = fmax(top, row[n]);
    }
    return top;
}

// out[i][j] = scale <x_i, y_j>; partials: of each row of a tile
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_score_rows(global float *restrict out,
                            global float2 *restrict partials,
                            global const float *restrict x,
                            global const float *restrict y,
                            global const int *restrict offsets, conv_band m,
                            conv_tokens r, int tiles)
{
    SCORE_TILES;
    EACH_ROW(STORE_SCORE, sum)
    const int row = ROW_OF(0), lane = LANE(0), across = lane % ACROSS;
    const int left = t.length - p.j - COLUMN_OF(0), left1 = left - 4 * ACROSS;
#define ROW_TOP(n, name)              \
    ta[(row + n) * ACROSS + across] = \
        fmax(quad_top(sum.s00.name, left), quad_top(sum.s01.name, left1));
    ROW_TOP(0, r0)
    ROW_TOP(1, r1)
    ROW_TOP(2, r2)
    ROW_TOP(3, r3)
    barrier(CLK_LOCAL_MEM_FENCE);
#define ROW_SHARE(n, name)                                                      \
    {                                                                           \
        const float top = top_of(ta + (row + n) * ACROSS);                      \
        tb[(row + n) * ACROSS + across] = quad_share(sum.s00.name, top, left) + \
                                          quad_share(sum.s01.name, top, left1); \
    }
    ROW_SHARE(0, r0)
    ROW_SHARE(1, r1)
    ROW_SHARE(2, r2)
    ROW_SHARE(3, r3)
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < TM && p.i + lane < p.last) {
        float2 all = (float2)(top_of(ta + lane * ACROSS), 0.0f);
        for (int n = 0; n < ACROSS; n++) {
            all.y += tb[lane * ACROSS + n];
        }
        const size_t rows = (size_t)(m.last - m.first),
                     i = (size_t)(p.i + lane - m.first);
        partials[((size_t)GROUP(2) * rows + i) * (size_t)tiles + (size_t)GROUP(0)] =
            all;
    }
}

// out[i][j] = exp(scale <x_i, y_j> - m_i) / sum_i, from what lse keeps
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_weights(global float *restrict out, global const float *restrict x,
                         global const float *restrict y,
                         global const float *restrict lse,
                         global const int *restrict offsets, conv_band m, conv_tokens r,
                         int tokens)
{
    SCORE_TILES;
    const size_t plane = (size_t)m.heads * (size_t)tokens;
    lse += (size_t)t.head * (size_t)tokens + (size_t)t.start;
#define WEIGH(z, row, column)                                         \
    {                                                                 \
        global const float *own = lse + min(p.i + row, t.length - 1); \
        z = exp(z - own[0]) * own[plane];                             \
    }
    if (p.i < p.last) {
        EACH_ROW(WEIGH, sum)
    }
    EACH_ROW(STORE_SCORE, sum)
}

// out[i][j] = scale <x_i, y_j> act'(strip[i][j]), of activated numbers
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_slopes(global float *restrict out, global float *restrict strips,
                        global const float *restrict x, global const float *restrict y,
                        global const int *restrict offsets, conv_band m, conv_tokens r,
                        int activation)
{
    SCORE_TILES;
    const sheet strip = band_of(strips, m);
#define SLOPE(z, row, column)                                                 \
    {                                                                         \
        const bool inside = p.i + row < p.last && p.j + column < t.length;    \
        const float4 a = quad_at(sheet_row(strip, inside ? p.i + row : p.i) + \
                                     (inside ? p.j + column : 0),             \
                                 inside ? t.length - p.j - column : 0);       \
        z *= activation_slope4(a, activation);                                \
    }
    if (activation && p.i < p.last) {
        EACH_ROW(SLOPE, sum)
    }
    EACH_ROW(STORE_SCORE, sum)
}

/* The filter, and what an item writes beside slopes. */
typedef struct shaping {
    source map;
    sheet strip;
    float w0, w1, w2, w3, w4, w5, w6, w7, w8, bias;
    int activation;
} shaping;

/* Writes four activated numbers of row i, columns j .. j + 3. Returns their slopes. */
INLINE float4 shape_quad(shaping f, row_of_3 a, row_of_3 b, row_of_3 c, int i, int j,
                         int last)
{
    float4 y = f.bias + f.w0 * a.left + f.w1 * a.here + f.w2 * a.right;
    y += f.w3 * b.left + f.w4 * b.here + f.w5 * b.right;
    y += f.w6 * c.left + f.w7 * c.here + f.w8 * c.right;
    y = activate4(y, f.activation);
    if (i < last && j < f.map.length) {
        *(global float4 *)place_in(f.strip, i, j) = y;
    }
    return activation_slope4(y, f.activation);
}

/* The same for four rows from i on; multiplies z by the slopes. */
INLINE void shape_block(block *z, shaping f, int i, int j, int last)
{
    const int at = min(j, f.map.length - 1) / 4 * 4; // readable
    const row_of_3 a = load_row(f.map, i - 1, at), b = load_row(f.map, i, at);
    const row_of_3 c = load_row(f.map, i + 1, at);
    z->r0 *= shape_quad(f, a, b, c, i, j, last);
    const row_of_3 d = load_row(f.map, i + 2, at);
    z->r1 *= shape_quad(f, b, c, d, i + 1, j, last);
    const row_of_3 e = load_row(f.map, i + 3, at);
    z->r2 *= shape_quad(f, c, d, e, i + 2, j, last);
    z->r3 *= shape_quad(f, d, e, load_row(f.map, i + 4, at), i + 3, j, last);
}

// the same for a filter of 3 x 3, which is done here: strip = act(b + w * map)
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_shape_slopes(global float *restrict out, global float *restrict strips,
                              global float *restrict maps,
                              global const float *restrict x,
                              global const float *restrict y,
                              global const float *restrict w,
                              global const float *restrict b,
                              global const int *restrict offsets, conv_shaping s)
{
    const conv_band m = s.m;
    const conv_tokens r = s.r;
    SCORE_TILES;
    shaping f;
    f.map.rows = band_of(maps, m);
    f.map.length = t.length;
    f.map.lse = 0; // weights, no scores
    f.map.plane = 0;
    f.strip = band_of(strips, m);
    w += t.head * 9;
    f.w0 = w[0];
    f.w1 = w[1];
    f.w2 = w[2];
    f.w3 = w[3];
    f.w4 = w[4];
    f.w5 = w[5];
    f.w6 = w[6];
    f.w7 = w[7];
    f.w8 = w[8];
    f.bias = b[t.head];
    f.activation = s.activation;
    if (p.i < p.last && p.j < t.length) {
        const int i = p.i + ROW_OF(0), j = p.j + COLUMN_OF(0);
        shape_block(&sum.s00, f, i, j, p.last);
        shape_block(&sum.s01, f, i, j + 4 * ACROSS, p.last);
    }
    EACH_ROW(STORE_SCORE, sum)
}

/* ---- results and gradients ----------------------------------------------------- */

// out_i = scale sum_j map[i][j] y_j, by the first groups; out_j = scale sum_i map[i][j]
// y_i by the next ones, and of strip in the place of map by the last ones
WORK_GROUP(ITEMS, 1, 1)
kernel void conv_products(global float *restrict dq, global float *restrict dk,
                          global float *restrict dv, global float *restrict maps,
                          global float *restrict strips,
                          global const float *restrict for_q,
                          global const float *restrict for_k,
                          global const float *restrict for_v,
                          global const int *restrict offsets, conv_three s)
{
    local float ta[A_SIZE] __attribute__((aligned(16)));
    local float tb[B_SIZE] __attribute__((aligned(16)));
    const pair_map t = find_pair(s.m, offsets);
    const int last = min(s.m.last, t.length), c = GROUP(0) * TN;
    const bool down = GROUP(1) < s.q_tiles, values = GROUP(1) >= s.q_tiles + s.k_tiles;
    const conv_tokens r = down ? s.q : values ? s.v : s.k;
    const int tile = GROUP(1) - (down ? 0 : s.q_tiles) - (values ? s.k_tiles : 0);
    const int i = (down ? s.m.first : 0) + tile * TM, most = down ? last : t.length;
    const int first = down ? 0 : s.m.first, end = down ? t.length : last;
    const matrix weights =
        rows_in(band_of(values ? strips : maps, s.m), last, t.length);
    matrix rows = rows_of(down     ? for_q
                          : values ? for_v
                                   : for_k,
                          r.y_at, r.y_stride, t, r);
    rows.last = end;
    sums sum;
    sums_clear(&sum);
    for (int j = first; TOGETHER(j < (i < most ? end : 0)); j += DEPTH) {
        if (down) {
            load_turned(ta, TM, weights, i, j);
        } else {
            load_straight(ta, TM, weights, j, i);
        }
        load_straight(tb, TN, rows, j, c);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, ta, tb);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    global float *to = (down     ? dq
                        : values ? dv
                                 : dk) +
                       (size_t)r.x_at + (size_t)t.start * (size_t)r.x_stride +
                       (size_t)(t.head * r.width) + c;
#define PRODUCT(z, row, column)                                                   \
    quad_store(to + (size_t)(i + row) * (size_t)r.x_stride + column, r.scale * z, \
               i + row < most ? r.width - c - column : 0, r.mode == GRAD_ADD);
    EACH_ROW(PRODUCT, sum)
}
