/* conv_filter.cl - the filter of convolved attention over rows of many maps.
 *
 * Layout: as conv_attention_2d.cl, bands with lines of whole quads; w [H,kh,kw]; b [H].
 * Work-group: WG items; an item has 4 columns of RUN rows.
 * Defines: WG; SIDE, 3 for a filter of 3 x 3, which stays in registers with the rows
 * that it covers; ACTIVATION, of activation.clh; SCORES, 1 if the input is scores,
 * whose softmax lse tells.
 * Local: the taps.
 * Numerics: all sums in a fixed order.
 * Writes: rows first..last-1 of a band in whole quads of its map. */
#include "conv_filter.clh"

#ifndef ACTIVATION
#define ACTIVATION ACT_NONE
#endif
#define RUN     8   // rows of an item
#define TAPMOST 961 // most taps of a filter: 31 x 31

/* An item's rows i .. end - 1 and columns j .. j + 3. */
typedef struct filter_place {
    int i, j, end;
} filter_place;

/* Writes a whole activated quad: no kernel reads the last quad's columns past the
 * map. */
INLINE void store_quad(sheet to, int i, int j, float4 z)
{
    *(global float4 *)place_in(to, i, j) = activate4(z, ACTIVATION);
}

#if SIDE == 3
INLINE float4 add_row(float4 sum, row_of_3 x, float w0, float w1, float w2)
{
    return sum + w0 * x.left + w1 * x.here + w2 * x.right;
}

/* Filters four rows a round, and keeps the last two input rows for the next round. */
INLINE void filter(sheet to, source from, local const float *w, filter_place p,
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
INLINE void filter(sheet to, source from, local const float *w, filter_place p,
                   float bias, conv_band m)
{
    for (int i = p.i; i < p.end; i += 4) {
        float4 s0 = (float4)(bias), s1 = s0, s2 = s0, s3 = s0;
        for (int u = 0; u < m.kh + 3; u++) {
            const int row = i + u - m.kh / 2, j = p.j - m.kw / 2;
            const bool inside = row >= 0 && row < from.length;
            const int columns = inside ? from.length : 0;
            global const float *x = place_in(from.rows, inside ? row : 0, 0);
            local const float *tap = w + u * m.kw;
            float4 z =
                (float4)(0.0f, number_in(x, j, columns), number_in(x, j + 1, columns),
                         number_in(x, j + 2, columns));
            for (int v = 0; v < m.kw; v++) {
                z = (float4)(z.y, z.z, z.w, number_in(x, j + v + 3, columns));
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
                        global const float *restrict lse,
                        global const int *restrict offsets, conv_band m, int turned,
                        int tokens)
{
    local float tap[SIDE ? SIDE * SIDE : TAPMOST];
    const pair_map t = find_pair(m, offsets);
    const sheet to = band_of(out, m);
    const int n = GROUP(0) * WG + LANE(0), taps = m.kh * m.kw, quads = t.columns / 4;
    source from;
    from.rows = band_of(in, m);
    from.length = t.length;
    from.lse = lse + (size_t)t.head * (size_t)tokens + (size_t)t.start;
    from.plane = (size_t)m.heads * (size_t)tokens;
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
