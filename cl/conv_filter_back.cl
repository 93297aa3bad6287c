/* conv_filter_back.cl - the gradients of map and filter of convolved attention.
 *
 * Layout: as conv_filter.cl; sums [B*H,parts,kh*kw+1], the last of a row for the bias.
 * Work-group: WG items. conv_filter_back: TEAM items have a row; conv_taps: a group
 * sums TAPS x TAPS numbers over SLICE rows of a map.
 * Defines: WG; SIDE, 3 for a filter of 3 x 3, which has the first kernel, 0 for any
 * other, which has the second.
 * Local: 10 WG floats.
 * Numerics: all sums in a fixed order.
 * Writes: rows first..last-1 of a band in whole quads of its map; parts of sums
 * whole. */
#include "conv_filter.clh"
#include "conv_team.clh"

#define TAPS   3
#define SLICE  32
#define ACROSS 32 // items side by side in conv_taps

/* Rows of a map that a group sums over. */
typedef struct tap_rows {
    sheet dy, p;
    int first, last, length;
} tap_rows;

/* Returns the sum of dy[i - down][j - right] p[i][j], i in rows of p, by_map, or else
 * of dy[i][j] p[i + down][j + right], i in rows of dy, over the places inside the map:
 * the zeros around it hide a NaN in dy. */
INLINE float tap_inside(tap_rows r, int down, int right, bool by_map)
{
    const int up = by_map ? down : 0; // the row of dy is i - up
    const int above = max(0, -down), below = r.length - max(0, down); // rows of dy
    float sum = 0.0f;
    for (int i = max(r.first - up, above); i < min(r.last - up, below); i++) {
        global const float *g = place_in(r.dy, i, 0);
        global const float *x = place_in(r.p, i + down, right);
        for (int j = max(0, -right); j < min(r.length, r.length - right); j++) {
            sum += g[j] * x[j];
        }
    }
    return sum;
}

/* The sums of TAPS x TAPS taps, and the bias in top.w. */
typedef struct tap_sums {
    float4 top, middle, low;
} tap_sums;

/* Adds up the items' sums: number n of the group in all[n * WG]. */
INLINE void add_taps(local float *all, tap_sums s)
{
    const int lid = LANE(0);
#define KEEP(n, x) all[(n)*WG + lid] = x;
    KEEP(0, s.top.x)
    KEEP(1, s.top.y)
    KEEP(2, s.top.z)
    KEEP(3, s.middle.x)
    KEEP(4, s.middle.y)
    KEEP(5, s.middle.z)
    KEEP(6, s.low.x)
    KEEP(7, s.low.y)
    KEEP(8, s.low.z)
    KEEP(9, s.top.w)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_of = WG / 2; half_of > 0; half_of /= 2) {
        for (int n = 0; n < (lid < half_of ? TAPS * TAPS + 1 : 0); n++) {
            all[n * WG + lid] += all[n * WG + lid + half_of];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

INLINE global float *part_of(global float *sums, pair_map t, conv_band m, int parts,
                             int part)
{
    return sums +
           ((size_t)t.index * (size_t)parts + (size_t)part) * (size_t)(m.kh * m.kw + 1);
}

#if SIDE == 3
INLINE float dot_of(float4 a, float4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/* Rows i - 1 .. i + 1 of dy around columns j .. j + 3, and the filter. */
typedef struct around {
    row_of_3 above, here, below;
} around;
INLINE around load_around(source dy, int i, int j)
{
    around x;
    x.above = load_row(dy, i - 1, j);
    x.here = load_row(dy, i, j);
    x.below = load_row(dy, i + 1, j);
    return x;
}
/* Returns dp, the turned filter's sums. */
INLINE float4 turned_filter(around x, local const float *w)
{
    float4 sum = w[0] * x.below.right + w[1] * x.below.here + w[2] * x.below.left;
    sum += w[3] * x.here.right + w[4] * x.here.here + w[5] * x.here.left;
    return sum + w[6] * x.above.right + w[7] * x.above.here + w[8] * x.above.left;
}

// dp = turned w * dy; da = p * (dp - sum_j dp * p) in place of p; a part of sums[u][v]
// = sum_ij p[i][j] dy[i + 1 - u][j + 1 - v], the last of dy
WORK_GROUP(WG, 1, 1)
kernel void conv_filter_back(global float *restrict maps, global float *restrict sums,
                             global float *restrict slopes,
                             global const float *restrict w,
                             global const int *restrict offsets, conv_band m, int parts)
{
    local float all[(TAPS * TAPS + 1) * WG], tap[TAPS * TAPS];
    const pair_map t = find_pair(m, offsets);
    const int lid = LANE(0), first = m.first + GROUP(0) * (WG / TEAM);
    const int i = first + lid / TEAM, left = 4 * (lid % TEAM);
    const int length = i < min(m.last, t.length) ? t.length : 0;
    const sheet p = band_of(maps, m);
    source dy;
    dy.rows = band_of(slopes, m);
    dy.length = t.length;
    dy.lse = 0; // not scores
    dy.plane = 0;
    if (lid < TAPS * TAPS) {
        tap[lid] = w[t.head * TAPS * TAPS + lid];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tap_sums s;
    s.top = s.middle = s.low = (float4)(0.0f);
    float4 of_row = (float4)(0.0f);
    for (int j = left; j < length; j += 4 * TEAM) {
        const around x = load_around(dy, i, j);
        const float4 own = *(global const float4 *)place_in(p, i, j);
        const float4 z = columns_below(own, j, length);
        s.top += (float4)(dot_of(z, x.below.right), dot_of(z, x.below.here),
                          dot_of(z, x.below.left), dot_of((float4)(1.0f), x.here.here));
        s.middle += (float4)(dot_of(z, x.here.right), dot_of(z, x.here.here),
                             dot_of(z, x.here.left), 0.0f);
        s.low += (float4)(dot_of(z, x.above.right), dot_of(z, x.above.here),
                          dot_of(z, x.above.left), 0.0f);
        of_row += z * turned_filter(x, tap);
    }
    const float sum = team_sum(of_row.x + of_row.y + of_row.z + of_row.w, all);
    add_taps(all, s);
    const float z = all[min(lid, TAPS * TAPS) * WG];
    if (lid <= TAPS * TAPS) {
        tap_rows r;
        r.dy = dy.rows;
        r.p = p;
        r.first = first;
        r.last = min(min(first + WG / TEAM, m.last), t.length);
        r.length = t.length;
        const bool lost = z != z && lid < TAPS * TAPS;
        part_of(sums, t, m, parts, first / (WG / TEAM))[lid] =
            lost ? tap_inside(r, lid / TAPS - 1, lid % TAPS - 1, true) : z;
    }
    barrier(CLK_GLOBAL_MEM_FENCE); // the map is read no more
    for (int j = left; j < length; j += 4 * TEAM) {
        global float4 *to = (global float4 *)place_in(p, i, j);
        const float4 dp = turned_filter(load_around(dy, i, j), tap);
        *to = columns_below(*to * (dp - sum), j, length);
    }
}
#else
// a part of sums[u][v] = sum_ij dy[i][j] p[i + u - kh/2][j + v - kw/2], the last of dy
WORK_GROUP(WG, 1, 1)
kernel void conv_taps(global float *restrict sums, global float *restrict slopes,
                      global float *restrict maps, global const int *restrict offsets,
                      conv_band m, int parts)
{
    local float all[(TAPS * TAPS + 1) * WG];
    const pair_map t = find_pair(m, offsets);
    const int across = (m.kw + TAPS - 1) / TAPS, lid = LANE(0);
    const int u = GROUP(0) / across * TAPS, v = GROUP(0) % across * TAPS;
    tap_rows r;
    r.dy = band_of(slopes, m);
    r.p = band_of(maps, m);
    r.first = m.first + GROUP(1) * SLICE;
    r.last = min(min(r.first + SLICE, m.last), t.length);
    r.length = t.length;
    tap_sums s;
    s.top = s.middle = s.low = (float4)(0.0f);
    for (int i = r.first + lid / ACROSS; i < r.last; i += WG / ACROSS) {
        const int at = i + u - m.kh / 2;
        const int c0 = at >= 0 && at < t.length ? t.length : 0;
        const int c1 = at + 1 >= 0 && at + 1 < t.length ? t.length : 0;
        const int c2 = at + 2 >= 0 && at + 2 < t.length ? t.length : 0;
        global const float *y = place_in(r.dy, i, 0);
        global const float *x0 = place_in(r.p, c0 ? at : i, 0);
        global const float *x1 = place_in(r.p, c1 ? at + 1 : i, 0);
        global const float *x2 = place_in(r.p, c2 ? at + 2 : i, 0);
        for (int j = lid % ACROSS; j < t.length; j += ACROSS) {
            const int k = j + v - m.kw / 2;
            s.top += y[j] * (float4)(number_in(x0, k, c0), number_in(x0, k + 1, c0),
                                     number_in(x0, k + 2, c0), 1.0f);
            s.middle += y[j] * (float4)(number_in(x1, k, c1), number_in(x1, k + 1, c1),
                                        number_in(x1, k + 2, c1), 0.0f);
            s.low += y[j] * (float4)(number_in(x2, k, c2), number_in(x2, k + 1, c2),
                                     number_in(x2, k + 2, c2), 0.0f);
        }
    }
    add_taps(all, s);
    const bool bias = lid == TAPS * TAPS && GROUP(0) == 0;
    const int down = u + lid / TAPS, right = v + lid % TAPS;
    if (bias || (lid < TAPS * TAPS && down < m.kh && right < m.kw)) {
        const float z = all[lid * WG];
        part_of(sums, t, m, parts,
                r.first / SLICE)[bias ? m.kh * m.kw : down * m.kw + right] =
            z != z && !bias ? tap_inside(r, down - m.kh / 2, right - m.kw / 2, false)
                            : z;
    }
}
#endif
