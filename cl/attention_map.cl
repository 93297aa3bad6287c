/* attention_map.cl - attention weights as a dense map, for inspection.
 *
 * Layout: map [B,H,Tmax,area*Smax], area-major; q, k as attention.clh;
 *         absolute [H,t,t] and relative [H,2t], each of which may be null; offsets
 *         [B+1].
 * Work-group: WG items, a row of the map; both schedules.
 * Defines: WIDTH = d; WG; BF16.
 * Writes: map whole, zero for pairs that are not visible. */
#include "attention.clh"
#include "attention_map_args.h"
#include "map_rows.clh"

#ifndef WIDTH
#define WIDTH 64
#endif

INLINE bool map_shows(int i, int j, int T, int S, int causal, int window)
{
    const bool inside = i < T && j < S && (!causal || j <= i + S - T);
    return inside && (window == 0 || abs_diff(i, j) <= (uint)(window / 2));
}

/* Returns the position bias of query i and key j: absolute plus relative. */
INLINE float position_score(global const float *absolute, global const float *relative,
                            int h, int i, int j, int t)
{
    const float x = absolute ? absolute[((size_t)h * t + i) * t + j] : 0.0f;
    return x + (relative ? relative[h * 2 * t + i - j + t] : 0.0f);
}

/* Returns the score of query i and column gj of a row of the map, NEVER if hidden. */
INLINE float map_score(global const float *q, global const float *k,
                       global const float *absolute, global const float *relative,
                       const sequence e, attention_args a, map_shape s, int h, int i,
                       int gj)
{
    const int g = gj / s.longest_k, j = gj % s.longest_k;
    const int head = area_key_head(h, g, s.area, s.edge, a.heads);
    if (head < 0 || !map_shows(i, j, e.T, e.S, a.causal, s.window)) {
        return NEVER;
    }
    global const float *x = q + q_row(a, e.q_first + i, h, WIDTH);
    global const float *y = k + k_row(a, e.k_first + j, head, WIDTH);
    return map_dot(0.0f, x, y, WIDTH) * a.scale +
           position_score(absolute, relative, h, i, j, s.t);
}

// map[b,h,i] = softmax over g and j of <q_i, k_gj> / sqrt(d) + absolute_ij +
// relative_{i-j}
WORK_GROUP(WG, 1, 1)
kernel void attention_map(global float *restrict map, global const float *restrict q,
                          global const float *restrict k,
                          global const float *restrict absolute,
                          global const float *restrict relative,
                          global const int *restrict q_offsets,
                          global const int *restrict k_offsets, attention_args a,
                          map_shape s)
{
    local float scratch[WG];
    const int columns = s.area * s.longest_k;
    const int i = GROUP(0) % s.longest_q, bh = GROUP(0) / s.longest_q;
    const int h = bh % a.heads;
    const sequence e = sequence_of(q_offsets, k_offsets, bh / a.heads, a.causal);
    float top = SCORE_MIN;
    map += (size_t)GROUP(0) * (size_t)columns;
    for (int gj = LANE(0); gj < columns; gj += WG) {
        const float score = map_score(q, k, absolute, relative, e, a, s, h, i, gj);
        map[gj] = score;
        top = fmax(top, score);
    }
    map_weights(map, columns, top, scratch);
}
