/* attention_weighted.cl - attention whose weights are replaced by any function of them,
 * a tile of queries to each work-group (GPUs): what follows from the statistics of rows
 * that attention_forward of attention.cl has found.
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: DOWN x ACROSS items, see attention_strip.clh; grid (tiles of the longest
 *             sequence, H, B). Trip counts depend on the group only.
 * Defines: those of attention_strip.clh.
 * Local: 16 (ROWS + SPAN + 8) + 2 ROWS floats, an int.
 * Numerics: f32; recomputes the weights from lse. An item sums its own columns; the
 *           items' sums are added once at the end.
 * Writes: every row of o; every row of delta. */
#define CUSTOM 1
#include "attention_draws.clh"

#if REWEIGH
/* s = weight(p) of the products s or, with dp, p times its derivative times dp; HIDDEN
 * for hidden pairs. */
INLINE void weigh_late(bias *b, strip *s, const strip *dp, place at, const sequence e,
                       local const float *tops, local const float *shares, float scale)
{
#pragma unroll 1
    for (int n = 0; n < 8 * QUADS; n++) {
        const int row = 8 * TY + n % 8;
        const pairs m = pairs_of(at, n, false);
        const int4 key = m.j + (int4)(0, 1, 2, 3);
        const float4 score = scores_of(b, strip_row(s, n) * scale, m);
        const int4 hidden =
            (key >= (int4)(min(e.S, m.i + e.reach + 1))) | (score == (float4)(NEVER));
        const float4 p = exp_below(score - tops[row], 1.0f) * shares[row];
        float4 w;
        if (dp) {
            w = p * turn_weights(b, strip_row(dp, n), p, m);
        } else {
#define WEIGHT_LATE(n, i, j) weight_at(&b->e, p.n, i, j)
            w = EACH_PAIR(WEIGHT_LATE, m);
        }
        strip_set_row(s, n, select(w, (float4)(HIDDEN), hidden));
    }
}

// o_i = sum_j weight(p_ij) v_j
WORK_GROUP(ITEMS, 1, 1)
kernel void attention_weighted(
    global float *restrict o, global const float *restrict lse,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a FORWARD_PARAMETERS)
{
    local float tiles[X_SIZE + Y_SIZE] __attribute__((aligned(16)));
    local float tops[ROWS], shares[ROWS];
    BIAS_LOCALS
    volatile local int odd;
    local float *x = tiles, *y = tiles + X_SIZE;
    const sequence e = SEQUENCE(q_offsets, k_offsets, a.causal);
    const int h = GROUP(1), first = GROUP(0) * ROWS, rows = min(e.T - first, ROWS);
    const int end = rows > 0 ? clamp(first + rows + e.reach, 0, e.S) : 0;
    const int row = e.q_first + first;
    FORWARD_BIAS(b, e, row);
    const draws d = { a, row + 8 * TY, h };
    strip s, z;
    strip_clear(&z);
    odd = 0;
    load_shares(tops, shares, lse + statistic(a, row, h), statistics(a), rows, ROWS);
    for (int j = next_key(&b, first_key(&b, first), end, first, rows);
         TOGETHER(j < end); j = next_key(&b, j + SPAN, end, first, rows)) {
        const int key = e.k_first + j;
        const place at = { first, rows, j, end - j };
        strip_clear(&s);
        strip_scores(&s, q + q_row(a, row, h, WIDTH), a.q_stride, rows,
                     k + k_row(a, key, h, WIDTH), a.k_stride, end - j, x, y);
        weigh_late(&b, &s, 0, at, e, tops, shares, a.scale);
        strip_mix(&z, &s, v + v_row(a, key, h, WIDTH), a.v_stride, at, &b, false, &d, x,
                  y, &odd);
    }
    strip_store(o + o_row(a, row, h, WIDTH), a.heads * WIDTH, &z, rows, 1.0f,
                GRAD_WRITE);
}

// delta_i = sum_j p_ij weight'(p_ij) keep_ij <dO_i, v_j>, where it is not <dO_i, o_i>
WORK_GROUP(ITEMS, 1, 1)
kernel void attention_weighted_delta(
    global float *restrict delta, global const float *restrict lse,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a,
    global const float *restrict dy FORWARD_PARAMETERS)
{
    local float tiles[X_SIZE + Y_SIZE] __attribute__((aligned(16)));
    local float tops[ROWS], shares[ROWS];
    BIAS_LOCALS
    local float *x = tiles, *y = tiles + X_SIZE;
    const sequence e = SEQUENCE(q_offsets, k_offsets, a.causal);
    const int h = GROUP(1), first = GROUP(0) * ROWS, rows = min(e.T - first, ROWS);
    const int end = rows > 0 ? clamp(first + rows + e.reach, 0, e.S) : 0;
    const int row = e.q_first + first, stride = a.heads * WIDTH;
    const size_t stat = statistic(a, row, h);
    FORWARD_BIAS(b, e, row);
    eight total = { (float4)(0.0f), (float4)(0.0f) };
    load_shares(tops, shares, lse + stat, statistics(a), rows, ROWS);
    for (int j = next_key(&b, first_key(&b, first), end, first, rows);
         TOGETHER(j < end); j = next_key(&b, j + SPAN, end, first, rows)) {
        const int key = e.k_first + j;
        const place at = { first, rows, j, end - j };
        strip s, dp;
        strip_clear(&dp);
        strip_scores(&dp, dy + o_row(a, row, h, WIDTH), stride, rows,
                     v + v_row(a, key, h, WIDTH), a.v_stride, end - j, x, y);
        strip_drop(&dp, tiles, a, row + 8 * TY, h, j + 4 * TX);
        barrier(CLK_LOCAL_MEM_FENCE);
        strip_clear(&s);
        strip_scores(&s, q + q_row(a, row, h, WIDTH), a.q_stride, rows,
                     k + k_row(a, key, h, WIDTH), a.k_stride, end - j, x, y);
        weigh_late(&b, &s, &dp, at, e, tops, shares, a.scale);
#define ADD_TOTAL(sums, h, i, n) total.n += s.sums.x + s.sums.y + s.sums.z + s.sums.w;
        EACH_ROW(ADD_TOTAL)
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tell_totals(tiles, total);
    for (int i = LANE(0); i < rows; i += ITEMS) {
        delta[stat + i] = told_sum(tiles, i, ACROSS);
    }
}
#endif
