/* attention_grad_q.cl - gradients of queries, a tile of them to each work-group (GPUs).
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: DOWN x ACROSS items, see attention_strip.clh; grid (tiles of the longest
 *             sequence, H, B). Trip counts depend on the group only.
 * Defines: those of attention_strip.clh.
 * Local: 16 (ROWS + SPAN + 8) + 3 ROWS floats, an int.
 * Numerics: f32; recomputes the weights from lse. Weights and their gradients stay in
 *           registers.
 * Writes: every row of the gradient, or adds to it, by mode; delta whole. A tile
 *         belongs to one group and blocks come in order, so two runs give the same
 *         bits. */
#include "attention_draws.clh"

// delta_i = <dO_i, O_i>, dq_i += scale sum_j ds_ij k_j,
// ds_ij = p_ij (keep_ij <dO_i, v_j> - delta_i)
WORK_GROUP(ITEMS, 1, 1)
kernel void attention_grad_q(
    global float *dq, global float *restrict delta, global const float *restrict dy,
    global const float *restrict o, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int mode)
{
    local float tiles[X_SIZE + Y_SIZE] __attribute__((aligned(16)));
    local float tops[ROWS] __attribute__((aligned(16)));
    local float shares[ROWS] __attribute__((aligned(16)));
    local float deltas[ROWS] __attribute__((aligned(16)));
    volatile local int odd;
    local float *x = tiles, *y = tiles + X_SIZE;
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int h = GROUP(1), first = GROUP(0) * ROWS, rows = min(e.T - first, ROWS);
    const int end = rows > 0 ? clamp(first + rows + e.reach, 0, e.S) : 0;
    const int row = e.q_first + first;
    strip s, dp, z;
    strip_clear(&z);
    odd = 0;
    const size_t out = o_row(a, row, h, WIDTH);
    strip_deltas(deltas, delta + statistic(a, row, h), dy + out, o + out,
                 a.heads * WIDTH, rows, tiles);
    for (int i = LANE(0); i < ROWS && rows > 0; i += ITEMS) {
        const size_t at = statistic(a, row + min(i, rows - 1), h);
        tops[i] = lse[at];
        shares[i] = exp2(-lse[at + statistics(a)]);
    }
    for (int j = 0; TOGETHER(j < end); j += SPAN) {
        const int key = e.k_first + j;
        global const float *keys = k + k_row(a, key, h, WIDTH);
        strip_clear(&s);
        strip_scores(&s, q + q_row(a, row, h, WIDTH), a.q_stride, rows, keys,
                     a.k_stride, end - j, x, y);
        const eight high = eight_load(tops);
#define WEIGH(sums, h, i, n) s.sums = exp_below(s.sums - high.n, a.scale);
        EACH_ROW(WEIGH)
        strip_clear(&dp);
        strip_scores(&dp, dy + out, a.heads * WIDTH, rows, v + v_row(a, key, h, WIDTH),
                     a.v_stride, end - j, x, y);
        if (a.drop > 0.0f) {
            strip_drop(&dp, tiles, a, row + 8 * TY, h, j + 4 * TX);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const eight less = eight_load(deltas), share = eight_load(shares);
#define LEARN(sums, h, i, n) s.sums *= (dp.sums - less.n) * share.n;
        EACH_ROW(LEARN)
        strip_hide(&s, e.S, first + 8 * TY, e.reach, j, HIDDEN);
        strip_mix(&z, &s, keys, a.k_stride, end - j, x, y, &odd);
    }
    strip_store(dq + q_row(a, row, h, WIDTH), a.q_stride, &z, rows, a.scale, mode);
}
