/* relative_map.cl - weights of attention with biases by distance as a dense map, for
 * inspection.
 *
 * Layout: map [B,H,Tmax,Smax]; q, k, lse as attention.clh; near as
 *         relative_attention.clh; offsets [B+1].
 * Work-group: WG items, an element of the map each; both schedules.
 * Defines: WIDTH = d; WG.
 * Writes: map whole, zero where nothing is visible. */
#include "attention.clh"
#include "relative_attention.clh"
#include "relative_map_args.h"

#ifndef WIDTH
#define WIDTH 64
#endif
#ifndef WG
#define WG 64
#endif

// map[b,h,i,j] = exp(scale (<q_i,k_j> + near_i,j-i) - lse_i)
WORK_GROUP(WG, 1, 1)
kernel void relative_map(global float *restrict map, global const float *restrict q,
                         global const float *restrict k,
                         global const float *restrict lse,
                         global const float *restrict near,
                         global const int *restrict q_offsets,
                         global const int *restrict k_offsets, attention_args a,
                         map_shape m)
{
    const size_t element = (size_t)GROUP(0) * WG + (size_t)LANE(0);
    const int j = (int)(element % (size_t)m.longest_k);
    const size_t row = element / (size_t)m.longest_k;
    const int i = (int)(row % (size_t)m.longest_q);
    const int bh = (int)(row / (size_t)m.longest_q);
    const int h = bh % a.heads, b = bh / a.heads;
    if (b < m.sequences) {
        const sequence e = sequence_of(q_offsets, k_offsets, b, a.causal);
        const int n = e.q_first + i;
        float weight = 0.0f;
        if (i < e.T && j < e.S && j <= i + e.reach) {
            global const float *x = q + q_row(a, n, h, WIDTH);
            global const float *y = k + k_row(a, e.k_first + j, h, WIDTH);
            const int number = near_number(j - i - (e.S - e.T), m.clip);
            float dot = near[near_row(a, n, h, m.clip) + (size_t)number];
            for (int c = 0; c < WIDTH; c++) {
                dot += x[c] * y[c];
            }
            weight = exp(dot * a.scale - lse[statistic(a, n, h)]);
        }
        map[element] = weight;
    }
}
