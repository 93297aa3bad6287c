/* attention_grad_q.cl - gradients of queries, a tile of them to each work-group (GPUs).
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: DOWN x ACROSS items, see attention_strip.clh; grid (tiles of the longest
 *             sequence, H, B). Trip counts depend on the group only.
 * Defines: those of attention_strip.clh and attention_bias.clh.
 * Local: 16 (ROWS + SPAN + 8) + 3 ROWS floats, an int.
 * Numerics: f32; recomputes the weights from lse. Weights and their gradients stay in
 *           registers.
 * Writes: every row of the gradient, or adds to it, by mode; delta whole; adds to sums.
 *         A tile belongs to one group and blocks come in order, so two runs
 *         give the same bits. */
#include "attention_draws.clh"

/* tops, shares = the largest scores of rows from lse on and one over their sums. */
INLINE void load_statistics(local float *tops, local float *shares,
                            global const float *lse, size_t apart, int rows)
{
    for (int i = LANE(0); i < ROWS && rows > 0; i += ITEMS) {
        const int at = min(i, rows - 1);
        tops[i] = lse[at];
        shares[i] = exp2(-lse[apart + at]);
    }
}

// delta_i = <dO_i, O_i>, dq_i += scale sum_j ds_ij k_j, sums_ij += ds_ij,
// ds_ij = p_ij (keep_ij <dO_i, v_j> - delta_i)
WORK_GROUP(ITEMS, 1, 1)
kernel void attention_grad_q(
    global float *dq, global float *restrict delta, global const float *restrict dy,
    global const float *restrict o, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int mode GRAD_Q_PARAMETERS)
{
    local float tiles[X_SIZE + Y_SIZE] __attribute__((aligned(16)));
    local float tops[ROWS] __attribute__((aligned(16)));
    local float shares[ROWS] __attribute__((aligned(16)));
    local float deltas[ROWS] __attribute__((aligned(16)));
    BIAS_LOCALS
    volatile local int odd;
    local float *x = tiles, *y = tiles + X_SIZE;
    const int h = GROUP(1), first = GROUP(0) * ROWS, stride = a.heads * WIDTH;
    odd = 0;
    bias_start();
    const sequence e = GRAD_Q_SEQUENCE(q_offsets, k_offsets, a.causal);
    const int rows = min(e.T - first, ROWS), row = e.q_first + first;
    const int end = rows > 0 ? clamp(first + rows + e.reach, 0, e.S) : 0;
    const size_t out = o_row(a, row, h, WIDTH), stat = statistic(a, row, h);
    const bias b = GRAD_Q_BIAS(e, row);
    strip s, dp, z;
    strip_clear(&z);
    bias_begin(&b, rows);
    strip_deltas(deltas, delta + stat, dy + out, o + out, stride, rows, tiles);
    load_statistics(tops, shares, lse + stat, statistics(a), rows);
    for (int j = 0; TOGETHER(j < end); j += SPAN) {
        const place at = { first, rows, j, end - j };
        global const float *keys = k + k_row(a, e.k_first + j, h, WIDTH);
        begin_queries(&b, &s, at);
        strip_scores(&s, q + q_row(a, row, h, WIDTH), a.q_stride, rows, keys,
                     a.k_stride, end - j, x, y);
        bias_queries(&b, &s, at, a.scale);
        const eight high = eight_load(tops);
#define WEIGH(sums, h, i, n) \
    s.sums = mark_again(exp_below(s.sums - high.n, BIASED_UNIT(a.scale)), s.sums);
        EACH_ROW(WEIGH)
        begin_slope_queries(&b, &dp, at);
        strip_scores(&dp, dy + out, stride, rows, v + v_row(a, e.k_first + j, h, WIDTH),
                     a.v_stride, end - j, x, y);
        strip_drop(&dp, tiles, a, row + 8 * TY, h, j + 4 * TX);
        barrier(CLK_LOCAL_MEM_FENCE);
        const eight less = eight_load(deltas), share = eight_load(shares);
#define LEARN(sums, h, i, n) \
    s.sums = mark_as(s.sums * ((dp.sums - less.n) * share.n), s.sums);
        EACH_ROW(LEARN)
        strip_hide(&s, e.S, first + 8 * TY, e.reach, j, HIDDEN);
        strip_mix(&z, &s, keys, a.k_stride, at, &b, 0, x, y, &odd);
    }
    bias_end(&b, rows, 0, a.scale);
    strip_store(dq + q_row(a, row, h, WIDTH), a.q_stride, &z, rows, a.scale, mode);
}
