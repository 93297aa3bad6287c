/* custom_attention_map.cl - weights from generated code as a dense map, for inspection.
 *
 * Layout: map [B,H,Tmax,Smax]; q, k, lse as attention.clh; offsets [B+1].
 * Work-group: WG items, an element of the map each; both schedules.
 * Defines: WIDTH = d; WG.
 * Writes: map whole, zero for pairs that are not visible. */
#include "attention.clh"
#include "custom_scope.clh"

#ifndef WIDTH
#define WIDTH 64
#endif
#ifndef WG
#define WG 64
#endif

/* Returns the weight of key j for query i, the factor of its value. */
INLINE float pair_weight(const scope *e, float raw, float lse, int i, int j)
{
    const float s = pair_score(e, raw, i, j), p = exp(s - lse);
#if REWEIGH
    return s > NEVER ? weight_at(e, p, i, j) : 0.0f;
#else
    return s > NEVER ? p : 0.0f;
#endif
}

// map[b,h,i,j] = weight(exp(score(<q_i, k_j> / sqrt(d)) - lse_i))
WORK_GROUP(WG, 1, 1)
kernel void custom_attention_map(global float *restrict map,
                                 global const float *restrict q,
                                 global const float *restrict k,
                                 global const float *restrict lse,
                                 global const int *restrict q_offsets,
                                 global const int *restrict k_offsets, attention_args a,
                                 custom_args c, int sequences, int longest_q,
                                 int longest_k INPUT_PARAMETERS)
{
    const size_t element = (size_t)GROUP(0) * WG + (size_t)LANE(0);
    const int j = (int)(element % (size_t)longest_k);
    const size_t row = element / (size_t)longest_k;
    const int i = (int)(row % (size_t)longest_q);
    const int bh = (int)(row / (size_t)longest_q), h = bh % a.heads, b = bh / a.heads;
    if (b < sequences) {
        const sequence s = sequence_of(q_offsets, k_offsets, b, a.causal);
        scope e = scope_of(s, c, h, b);
        SET_INPUTS(e)
        float weight = 0.0f;
        if (i < s.T && j < s.S && j <= i + min(s.reach, c.apart)) {
            global const float *x = q + q_row(a, s.q_first + i, h, WIDTH);
            global const float *y = k + k_row(a, s.k_first + j, h, WIDTH);
            float dot = 0.0f;
            for (int n = 0; n < WIDTH; n++) {
                dot += x[n] * y[n];
            }
            weight = pair_weight(&e, dot * a.scale, lse[statistic(a, s.q_first + i, h)],
                                 i, j);
        }
        map[element] = weight;
    }
}
