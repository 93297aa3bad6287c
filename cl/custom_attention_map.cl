/* custom_attention_map.cl - weights from generated code as a dense map, for inspection.
 *
 * Layout: map [B,H,Tmax,Smax]; q, k as attention.clh; offsets [B+1].
 * Work-group: WG items, a row of the map; both schedules.
 * Defines: WIDTH = d; WG.
 * Writes: map whole, zero for pairs that are not visible. */
#include "attention.clh"
#include "custom_scope.clh"
#include "map_rows.clh"

#ifndef WIDTH
#define WIDTH 64
#endif

// map[b,h,i,j] = weight(p_ij), p = softmax over j of score(<q_i, k_j> / sqrt(d))
WORK_GROUP(WG, 1, 1)
kernel void custom_attention_map(global float *restrict map,
                                 global const float *restrict q,
                                 global const float *restrict k,
                                 global const int *restrict q_offsets,
                                 global const int *restrict k_offsets, attention_args a,
                                 custom_args c, int longest_q,
                                 int longest_k INPUT_PARAMETERS)
{
    local float scratch[WG];
    const int i = GROUP(0) % longest_q, bh = GROUP(0) / longest_q;
    const int h = bh % a.heads, b = bh / a.heads;
    const sequence s = sequence_of(q_offsets, k_offsets, b, a.causal);
    const int end = i < s.T ? min(s.S, i + min(s.reach, c.apart) + 1) : 0;
    scope e = scope_of(s, c, h, b);
    SET_INPUTS(e)
    float top = SCORE_MIN;
    map += (size_t)GROUP(0) * (size_t)longest_k;
    for (int j = LANE(0); j < longest_k; j += WG) {
        float score = NEVER;
        if (j < end) {
            global const float *x = q + q_row(a, s.q_first + i, h, WIDTH);
            global const float *y = k + k_row(a, s.k_first + j, h, WIDTH);
            score = pair_score(&e, map_dot(0.0f, x, y, WIDTH) * a.scale, i, j);
        }
        map[j] = score;
        top = fmax(top, score);
    }
    map_weights(map, longest_k, top, scratch);
#if REWEIGH
    for (int j = LANE(0); j < end; j += WG) {
        map[j] = map[j] != 0.0f ? weight_at(&e, map[j], i, j) : 0.0f;
    }
#endif
}
