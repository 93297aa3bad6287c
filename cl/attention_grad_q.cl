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

/* Loads what attention_weighted.cl has computed. */
INLINE void load_deltas(local float *deltas, global const float *delta, int rows)
{
    for (int i = LANE(0); i < ROWS && rows > 0; i += ITEMS) {
        deltas[i] = delta[min(i, rows - 1)];
    }
}

#if !CUSTOM
/* s = weights but for the factor of their row, from products. */
INLINE void weigh_queries(const bias *b, strip *s, place at, local const float *tops,
                          float scale)
{
    bias_queries(b, s, at, scale);
    (void)b, (void)at;
    const eight high = eight_load(tops);
#define WEIGH(sums, h, i, n) \
    s->sums = mark_again(exp_below(s->sums - high.n, BIASED_UNIT(scale)), s->sums);
    EACH_ROW(WEIGH)
}

/* s = ds, HIDDEN for hidden pairs, from these weights and dp. */
INLINE void slopes_of_queries(const bias *b, strip *s, const strip *dp, place at,
                              const sequence e, local const float *tops,
                              local const float *shares, local const float *deltas,
                              float scale)
{
    (void)b, (void)tops, (void)scale;
    const eight less = eight_load(deltas), share = eight_load(shares);
#define TO_SLOPE(sums, h, i, n) \
    s->sums = mark_as(s->sums * ((dp->sums - less.n) * share.n), s->sums);
    EACH_ROW(TO_SLOPE)
    strip_hide(s, e.S, at.own + 8 * TY, e.reach, at.other, HIDDEN);
}
#endif

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
    const int h = GRAD_Q_HEAD, first = GRAD_Q_TILE * ROWS, stride = a.heads * WIDTH;
    odd = 0;
    bias_start();
    const sequence e = GRAD_Q_SEQUENCE(q_offsets, k_offsets, a.causal);
    const int rows = min(e.T - first, ROWS), row = e.q_first + first;
    const int end = rows > 0 ? clamp(first + rows + e.reach, 0, e.S) : 0;
    const size_t out = o_row(a, row, h, WIDTH), stat = statistic(a, row, h);
    GRAD_Q_BIAS(b, e, row);
    strip s, dp, z;
    strip_clear(&z);
    bias_begin(&b, rows);
    if (LATE_WEIGHTS) {
        load_deltas(deltas, delta + stat, rows);
    } else {
        strip_deltas(deltas, delta + stat, dy + out, o + out, stride, rows, tiles);
    }
    load_shares(tops, shares, lse + stat, statistics(a), rows, ROWS);
    for (int j = next_key(&b, first_key(&b, first), end, first, rows);
         TOGETHER(j < end); j = next_key(&b, j + SPAN, end, first, rows)) {
        const place at = { first, rows, j, end - j };
        global const float *keys = k + k_row(a, e.k_first + j, h, WIDTH);
        begin_queries(&b, &s, at);
        strip_scores(&s, q + q_row(a, row, h, WIDTH), a.q_stride, rows, keys,
                     a.k_stride, end - j, x, y);
        weigh_queries(&b, &s, at, tops, a.scale);
        begin_slope_queries(&b, &dp, at);
        strip_scores(&dp, dy + out, stride, rows, v + v_row(a, e.k_first + j, h, WIDTH),
                     a.v_stride, end - j, x, y);
        strip_drop(&dp, tiles, a, row + 8 * TY, h, j + 4 * TX);
        barrier(CLK_LOCAL_MEM_FENCE);
        slopes_of_queries(&b, &s, &dp, at, e, tops, shares, deltas, a.scale);
        strip_mix(&z, &s, keys, a.k_stride, at, &b, true, 0, x, y, &odd);
    }
    bias_end(&b, rows, 0, a.scale);
    learn_end(&b, first, rows);
    strip_store(dq + q_row(a, row, h, WIDTH), a.q_stride, &z, rows, a.scale, mode);
}
