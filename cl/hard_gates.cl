/* hard_gates.cl - places of maps, gates, and lists of the open gates.
 *
 * Layout: scores, gates: maps as hard_attention.clh; maps [B+1]; norm [Nq]; list: as
 * long as the maps, the part of row n of a sequence begins n rows after maps[b]; count
 * [rows].
 * Work-group: hard_gates, hard_top, hard_norm: WG items side by side along the keys of
 * a query; hard_list: an item to a row; hard_maps: one item in all.
 * Defines: WG, a power of two.
 * Numerics: probabilities in f32; a gate opens if its draw of 24 bits is below the
 * probability. A gate that depends on a NaN is NaN.
 * Writes: maps, gates, norm, count whole; list up to count. */
#include "hard_attention.clh"

#ifndef WG
#define WG 64
#endif

// maps[b] = sum over c < b of T_c S_c
WORK_GROUP(1, 1, 1)
kernel void hard_maps(global int *restrict maps, global const int *restrict q_offsets,
                      global const int *restrict k_offsets, int sequences)
{
    int at = 0;
    for (int b = 0; b < sequences; b++) {
        maps[b] = at;
        at += (q_offsets[b + 1] - q_offsets[b]) * (k_offsets[b + 1] - k_offsets[b]);
    }
    maps[sequences] = at;
}

/* Returns 1 if fewer than top keys of the row have a larger score than key j, else 0.
 * Of equal scores the first counts as larger. */
INLINE float among_top(global const float *scores, int keys, int j, int top)
{
    int larger = 0;
    for (int k = 0; k < keys; k++) {
        larger += scores[k] > scores[j] || (scores[k] == scores[j] && k < j);
    }
    return larger < top ? 1.0f : 0.0f;
}

// gate = 1 where the score is 0 or more, else 0
INLINE void threshold(global float *gates, global const float *scores, int keys)
{
    for (int j = LANE(0); j < keys; j += WG) {
        const float s = scores[j];
        gates[j] = s >= 0.0f ? 1.0f : (s < 0.0f ? 0.0f : s);
    }
}

// gate = 1 if the gate is open, else 0; with GATE_EXPECTED the probability that it is;
// not for GATE_TOP
WORK_GROUP(WG, 1, 1)
kernel void hard_gates(global float *restrict gates,
                       global const float *restrict scores,
                       global const int *restrict q_offsets,
                       global const int *restrict k_offsets,
                       global const int *restrict maps, gate_args a)
{
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(1));
    const int row = GROUP(0), keys = row < p.T ? p.S : 0;
    const size_t at = p.map + (size_t)row * p.S;
    if (a.gate == GATE_THRESHOLD) {
        threshold(gates + at, scores + at, keys);
        return;
    }
    for (int j = LANE(0) * 4; j < keys; j += WG * 4) {
        uint4 r = (uint4)(0);
        if (a.gate == GATE_SAMPLE) {
            r = philox((uint4)((uint)j / 4, a.first_row + (uint)(p.q_first + row),
                               DRAW_GATES, a.stream),
                       (uint2)(a.seed, a.step));
        }
        for (int k = 0; k < min(4, keys - j); k++) {
            const uint word = k < 2 ? (k ? r.y : r.x) : (k == 2 ? r.z : r.w);
            const float s = scores[at + j + k];
            float gate = sigmoid(s);
            if (a.gate == GATE_SAMPLE && s == s) {
                gate = uniform(word) < gate ? 1.0f : 0.0f;
            }
            gates[at + j + k] = gate;
        }
    }
}

// gate = 1 for the top scores of a query, else 0; all NaN if a score is
WORK_GROUP(WG, 1, 1)
kernel void hard_top(global float *restrict gates, global const float *restrict scores,
                     global const int *restrict q_offsets,
                     global const int *restrict k_offsets,
                     global const int *restrict maps, gate_args a)
{
    local int lost;
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(1));
    const int row = GROUP(0), keys = row < p.T ? p.S : 0;
    const size_t at = p.map + (size_t)row * p.S;
    int odd = 0;
    if (LANE(0) == 0) {
        lost = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = LANE(0); j < keys; j += WG) {
        gates[at + j] = among_top(scores + at, keys, j, a.top);
        odd |= scores[at + j] != scores[at + j];
    }
    if (odd) {
        lost = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int j = LANE(0); j < (lost ? keys : 0); j += WG) {
        gates[at + j] = NAN;
    }
}

// norm = 1 / max(1, sum of the row's gates)
WORK_GROUP(WG, 1, 1)
kernel void hard_norm(global float *restrict norm, global const float *restrict gates,
                      global const int *restrict q_offsets,
                      global const int *restrict k_offsets,
                      global const int *restrict maps)
{
    local float scratch[WG];
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(1));
    const int row = GROUP(0), keys = row < p.T ? p.S : 0, lid = LANE(0);
    const size_t at = p.map + (size_t)row * p.S;
    float open = 0.0f;
    for (int j = lid; j < keys; j += WG) {
        open += gates[at + j];
    }
    open = group_sum(open, scratch, lid, WG);
    if (lid == 0 && row < p.T) {
        norm[p.q_first + row] = 1.0f / (open < 1.0f ? 1.0f : open);
    }
}

// list = indices of the gates that are not 0, in a query's row or (by_key) a key's
// column; count = their number
WORK_GROUP(WG, 1, 1)
kernel void hard_list(global int *restrict list, global int *restrict count,
                      global const float *restrict gates,
                      global const int *restrict q_offsets,
                      global const int *restrict k_offsets,
                      global const int *restrict maps, int by_key)
{
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(1));
    const int row = GROUP(0) * WG + LANE(0);
    const int rows = by_key ? p.S : p.T, length = by_key ? p.T : p.S;
    if (row < rows) {
        const size_t from = p.map + (by_key ? (size_t)row : (size_t)row * p.S);
        const size_t step = by_key ? (size_t)p.S : 1;
        const size_t to = p.map + (size_t)row * length;
        int found = 0;
        for (int n = 0; n < length; n++) {
            if (gates[from + n * step] != 0.0f) {
                list[to + found] = n;
                found++;
            }
        }
        count[(by_key ? p.k_first : p.q_first) + row] = found;
    }
}
