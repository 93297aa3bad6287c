/* conv_filter.cl - the filter of convolved attention over bands of rows, and its
 * gradient.
 *
 * Layout: as conv_attention_2d.cl, bands with edges and lines of whole quads; w
 * [H,kh,kw]; b [H]; sums [B*H,kh*kw+1].
 * Work-group: WG items. conv_filter: an item has 4 columns of RUN rows; conv_taps: a
 * group sums TAPS x TAPS numbers for one map.
 * Defines: WG, 64 to 256, a power of two; SIDE, 3 for a filter of 3 x 3, which stays in
 * registers with the rows that it covers, 0 for any other; ACTIVATION, of activation.clh.
 * Numerics: all sums in a fixed order.
 * Writes: rows first..last-1 of a band in whole quads of its map; sums whole. */
#include "conv_band.clh"

#ifndef WG
#define WG 128
#endif
#ifndef SIDE
#define SIDE 3
#endif
#ifndef ACTIVATION
#define ACTIVATION ACT_NONE
#endif
#define RUN     8 // rows of an item
#define TAPS    3
#define TAPMOST 961 // most taps of a filter: 31 x 31

/* An item's rows i .. end - 1 and columns j .. j + 3. */
typedef struct filter_place {
    int i, j, end;
} filter_place;

/* Returns columns j .. j + 3 of row i; a band is less than 2^31 floats. */
INLINE global float *place_in(sheet m, int i, int j)
{
    return m.at + (i & m.mask) * m.line + j;
}

/* Writes a whole activated quad: no kernel reads the last quad's columns past the
 * map. */
INLINE void store_quad(sheet to, int i, int j, float4 z)
{
    *(global float4 *)place_in(to, i, j) = activate4(z, ACTIVATION);
}

#if SIDE == 3
/* Columns j - 1 .. j + 4 of a row, as three quads. */
typedef struct row_of_3 {
    float4 left, here, right;
} row_of_3;

INLINE row_of_3 load_row(sheet from, int i, int j)
{
    global const float *x = place_in(from, i, j);
    row_of_3 r;
    r.here = *(global const float4 *)x;
    r.left = (float4)(x[-1], r.here.x, r.here.y, r.here.z);
    r.right = (float4)(r.here.y, r.here.z, r.here.w, x[4]);
    return r;
}

INLINE float4 add_row(float4 sum, row_of_3 x, float w0, float w1, float w2)
{
    return sum + w0 * x.left + w1 * x.here + w2 * x.right;
}

/* Filters four rows a round, and keeps the last two input rows for the next round. */
INLINE void filter(sheet to, sheet from, local const float *w, filter_place p,
                   float bias, conv_band m)
{
    (void)m; // its filter is 3 x 3
    const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5],
                w6 = w[6], w7 = w[7], w8 = w[8];
    row_of_3 r0 = load_row(from, p.i - 1, p.j), r1 = load_row(from, p.i, p.j);
    for (int i = p.i; i < p.end; i += 4) {
        const row_of_3 r2 = load_row(from, i + 1, p.j), r3 = load_row(from, i + 2, p.j);
        const row_of_3 r4 = load_row(from, i + 3, p.j), r5 = load_row(from, i + 4, p.j);
#define THREE_ROWS(n, above, here, below)                            \
    if (i + n < p.end) {                                             \
        float4 sum = add_row((float4)(bias), above, w0, w1, w2);     \
        sum = add_row(sum, here, w3, w4, w5);                        \
        store_quad(to, i + n, p.j, add_row(sum, below, w6, w7, w8)); \
    }
        THREE_ROWS(0, r0, r1, r2)
        THREE_ROWS(1, r1, r2, r3)
        THREE_ROWS(2, r2, r3, r4)
        THREE_ROWS(3, r3, r4, r5)
        r0 = r4;
        r1 = r5;
    }
}
#else
/* Filters four rows at a time, so that a number is read once for all four of them. */
INLINE void filter(sheet to, sheet from, local const float *w, filter_place p,
                   float bias, conv_band m)
{
    for (int i = p.i; i < p.end; i += 4) {
        float4 s0 = (float4)(bias), s1 = s0, s2 = s0, s3 = s0;
        for (int u = 0; u < m.kh + 3; u++) {
            global const float *x = sheet_row(from, i + u - m.kh / 2) + p.j - m.kw / 2;
            local const float *tap = w + u * m.kw;
            float4 z = (float4)(0.0f, x[0], x[1], x[2]);
            for (int v = 0; v < m.kw; v++) {
                z = (float4)(z.y, z.z, z.w, x[v + 3]);
                s0 += u < m.kh ? tap[v] * z : (float4)(0.0f);
                s1 += u > 0 && u <= m.kh ? tap[v - m.kw] * z : (float4)(0.0f);
                s2 += u > 1 && u <= m.kh + 1 ? tap[v - 2 * m.kw] * z : (float4)(0.0f);
                s3 += u > 2 ? tap[v - 3 * m.kw] * z : (float4)(0.0f);
            }
        }
        store_quad(to, i, p.j, s0);
        if (i + 1 < p.end) {
            store_quad(to, i + 1, p.j, s1);
        }
        if (i + 2 < p.end) {
            store_quad(to, i + 2, p.j, s2);
        }
        if (i + 3 < p.end) {
            store_quad(to, i + 3, p.j, s3);
        }
    }
}
#endif

// out[i][j] = act(b + sum w[u][v] in[i + u - kh/2][j + v - kw/2])
WORK_GROUP(WG, 1, 1)
kernel void conv_filter(global float *restrict out, global float *restrict in,
                        global const float *restrict w, global const float *restrict b,
                        global const int *restrict offsets, conv_band m, int turned)
{
    local float tap[SIDE ? SIDE * SIDE : TAPMOST];
    const pair_map t = find_pair(m, offsets);
    const sheet from = band_of(in, m), to = band_of(out, m);
    const int n = GROUP(0) * WG + LANE(0), taps = m.kh * m.kw, quads = t.columns / 4;
    w += (size_t)(t.head * taps);
    for (int e = LANE(0); e < taps; e += WG) {
        tap[e] = w[turned ? taps - 1 - e : e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    filter_place p;
    p.i = m.first + n / quads * RUN;
    p.j = n % quads * 4;
    p.end = min(min(m.last, t.length), p.i + RUN);
    if (p.j < t.length && p.i < p.end) {
        filter(to, from, tap, p, b ? b[t.head] : 0.0f, m);
    }
}

/* Returns the sum for tap (u,v) over the places in the map: the zeros around it hide a
 * NaN in dy. */
INLINE float tap_inside(sheet dy, sheet p, conv_band m, int length, int u, int v)
{
    const int down = u - m.kh / 2, right = v - m.kw / 2, last = min(m.last, length);
    float sum = 0.0f;
    for (int i = max(m.first, -down); i < min(last, length - down); i++) {
        global const float *g = sheet_row(dy, i), *x = sheet_row(p, i + down) + right;
        for (int j = max(0, -right); j < min(length, length - right); j++) {
            sum += g[j] * x[j];
        }
    }
    return sum;
}

// sums[u][v] (+)= sum_ij dy[i][j] p[i + u - kh/2][j + v - kw/2]; the last (+)= sum dy
WORK_GROUP(WG, 1, 1)
kernel void conv_taps(global float *restrict sums, global float *restrict slopes,
                      global float *restrict maps, global const int *restrict offsets,
                      conv_band m, int add)
{
    local float all[(TAPS * TAPS + 1) * WG];
    const pair_map t = find_pair(m, offsets);
    const sheet dy = band_of(slopes, m), p = band_of(maps, m);
    const int across = (m.kw + TAPS - 1) / TAPS, lid = LANE(0);
    const int u = GROUP(0) / across * TAPS, v = GROUP(0) % across * TAPS;
    const int count = max(min(m.last, t.length) - m.first, 0) * t.length;
    const int u1 = min(u + 1, m.kh - 1), u2 = min(u + 2, m.kh - 1);
    const int v1 = min(v + 1, m.kw - 1), v2 = min(v + 2, m.kw - 1);
    float4 top = (float4)(0.0f), middle = top, low = top; // the bias in top.w
    for (int n = lid; n < count; n += WG) {
        const int i = m.first + n / t.length, j = n % t.length - m.kw / 2;
        const float y = sheet_row(dy, i)[n % t.length];
        global const float *x0 = sheet_row(p, i + u - m.kh / 2) + j;
        global const float *x1 = sheet_row(p, i + u1 - m.kh / 2) + j;
        global const float *x2 = sheet_row(p, i + u2 - m.kh / 2) + j;
        top += y * (float4)(x0[v], x0[v1], x0[v2], 1.0f);
        middle += y * (float4)(x1[v], x1[v1], x1[v2], 0.0f);
        low += y * (float4)(x2[v], x2[v1], x2[v2], 0.0f);
    }
#define KEEP(n, x) all[(n)*WG + lid] = x;
    KEEP(0, top.x)
    KEEP(1, top.y)
    KEEP(2, top.z)
    KEEP(3, middle.x)
    KEEP(4, middle.y)
    KEEP(5, middle.z)
    KEEP(6, low.x)
    KEEP(7, low.y)
    KEEP(8, low.z)
    KEEP(9, top.w)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_of = WG / 2; half_of > 0; half_of /= 2) {
        for (int n = 0; n < (lid < half_of ? TAPS * TAPS + 1 : 0); n++) {
            all[n * WG + lid] += all[n * WG + lid + half_of];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const bool bias = lid == TAPS * TAPS && GROUP(0) == 0;
    const bool tap =
        lid < TAPS * TAPS && u + lid / TAPS < m.kh && v + lid % TAPS < m.kw;
    if (tap || bias) {
        global float *to =
            sums + (size_t)t.index * (size_t)(m.kh * m.kw + 1) +
            (bias ? m.kh * m.kw : (u + lid / TAPS) * m.kw + v + lid % TAPS);
        float z = all[lid * WG];
        if (z != z && !bias) {
            z = tap_inside(dy, p, m, t.length, u + lid / TAPS, v + lid % TAPS);
        }
        *to = (add ? *to : 0.0f) + z;
    }
}
