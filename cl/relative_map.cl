/* relative_map.cl - weights of attention with biases by distance as a dense map, for
 * inspection.
 *
 * Layout: map [B,H,Tmax,Smax]; q, k as attention.clh; near as
 *         relative_attention.clh; offsets [B+1].
 * Work-group: WG items, a row of the map; both schedules.
 * Defines: WIDTH = d; WG.
 * Writes: map whole, zero where nothing is visible. */
#include "attention.clh"
#include "map_rows.clh"
#include "relative_attention.clh"
#include "relative_map_args.h"

#ifndef WIDTH
#define WIDTH 64
#endif

// map[b,h,i] = softmax over j of scale (<q_i,k_j> + near_i,j-i)
WORK_GROUP(WG, 1, 1)
kernel void relative_map(global float *restrict map, global const float *restrict q,
                         global const float *restrict k,
                         global const float *restrict near,
                         global const int *restrict q_offsets,
                         global const int *restrict k_offsets, attention_args a,
                         map_shape m)
{
    local float scratch[WG];
    const int i = GROUP(0) % m.longest_q, bh = GROUP(0) / m.longest_q;
    const int h = bh % a.heads;
    const sequence e = sequence_of(q_offsets, k_offsets, bh / a.heads, a.causal);
    const int n = e.q_first + i, end = i < e.T ? min(e.S, i + e.reach + 1) : 0;
    float top = SCORE_MIN;
    map += (size_t)GROUP(0) * (size_t)m.longest_k;
    for (int j = LANE(0); j < m.longest_k; j += WG) {
        float score = NEVER;
        if (j < end) {
            global const float *x = q + q_row(a, n, h, WIDTH);
            global const float *y = k + k_row(a, e.k_first + j, h, WIDTH);
            const int number = near_number(j - i - (e.S - e.T), m.clip);
            const float bias = near[near_row(a, n, h, m.clip) + (size_t)number];
            score = map_dot(bias, x, y, WIDTH) * a.scale;
        }
        map[j] = score;
        top = fmax(top, score);
    }
    map_weights(map, m.longest_k, top, scratch);
}
