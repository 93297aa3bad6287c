/* attention_map.cl - attention weights as a dense map, for inspection.
 *
 * Layout: map [B,H,Tmax,area*Smax], area-major; q, k, lse as attention.clh;
 *         absolute [H,t,t], relative [H,2t], center [N,H] and sigma [N,H] or [H], each
 *         of which may be null; offsets [B+1].
 * Work-group: WG items, an element of the map each; both schedules.
 * Defines: WIDTH = d; WG.
 * Writes: map whole, zero for pairs that are not visible. */
#include "attention.clh"
#include "attention_map_args.h"

#ifndef WIDTH
#define WIDTH 64
#endif
#ifndef WG
#define WG 64
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

/* Returns the Gaussian bias of query i (token n) and key j: 0 if sigma is null. The
 * centre is the query itself if center is null. */
INLINE float gaussian_score(global const float *center, global const float *sigma,
                            attention_args a, map_shape s, int n, int h, int i, int j)
{
    if (!sigma) {
        return 0.0f;
    }
    const size_t at = (size_t)n * (size_t)a.heads + (size_t)h;
    const float apart = (float)j - (center ? center[at] : (float)i);
    const float z = apart / sigma[s.sigma_step ? at : (size_t)h];
    return fabs(z) > s.limit ? NEVER : -0.5f * z * z;
}

// map[b,h,i,g,j] = exp(<q_i, k_j> / sqrt(d) + absolute_ij + relative_{i-j} -
// (j - center_i)^2 / (2 sigma_i^2) - lse_i)
WORK_GROUP(WG, 1, 1)
kernel void attention_map(
    global float *restrict map, global const float *restrict q,
    global const float *restrict k, global const float *restrict lse,
    global const float *restrict absolute, global const float *restrict relative,
    global const float *restrict center, global const float *restrict sigma,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    attention_args a, map_shape s)
{
    const size_t element = (size_t)GROUP(0) * WG + (size_t)LANE(0);
    const size_t columns = (size_t)s.area * (size_t)s.longest_k;
    const int gj = (int)(element % columns);
    const int g = gj / s.longest_k, j = gj % s.longest_k;
    const size_t row = element / columns;
    const int i = (int)(row % (size_t)s.longest_q);
    const int bh = (int)(row / (size_t)s.longest_q);
    const int h = bh % a.heads, b = bh / a.heads;
    if (b < s.sequences) {
        const int q_first = q_offsets[b], T = q_offsets[b + 1] - q_first;
        const int k_first = k_offsets[b], S = k_offsets[b + 1] - k_first;
        const int head = area_key_head(h, g, s.area, s.edge, a.heads);
        float weight = 0.0f;
        if (head >= 0 && map_shows(i, j, T, S, a.causal, s.window)) {
            global const float *x = q + q_row(a, q_first + i, h, WIDTH);
            global const float *y = k + k_row(a, k_first + j, head, WIDTH);
            float dot = 0.0f;
            for (int c = 0; c < WIDTH; c++) {
                dot += x[c] * y[c];
            }
            dot = dot * a.scale + position_score(absolute, relative, h, i, j, s.t) +
                  gaussian_score(center, sigma, a, s, q_first + i, h, i, j);
            weight = exp(dot - lse[statistic(a, q_first + i, h)]);
        }
        map[element] = weight;
    }
}
