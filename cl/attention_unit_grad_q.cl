/* attention_unit_grad_q.cl - attention_grad_q on a GPU's matrix unit, a tile of queries
 * to each work-group.
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: ITEMS items to TM queries, see attention_unit_group.clh; grid (tiles of
 *             the longest sequence, H, B). Trip counts depend on the group only.
 * Defines: those of attention_unit_group.clh.
 * Local: 2 (2 OWN_SIZE + TILES_SIZE) + 12 TM bytes, an int.
 * Numerics: products of bf16 numbers with f32 sums; recomputes the weights from lse.
 * Writes: every row of the gradient, or adds to it, by mode; delta whole. A tile
 *         belongs to one group and blocks come in order, so two runs give the same
 *         bits. */
#include "attention_unit_group.clh"

#define LANES 8 // items that load a row for delta, of neighbours

/* deltas[i] = <dO_i, O_i> of the group's rows, also stored; dO is rounded, as it is in
 * products. told is scratch memory of TM (LANES + 1) floats. Ends with a barrier. */
INLINE void note_deltas(local float *deltas, global float *delta,
                        global const float *dy, global const float *o, int stride,
                        int rows, local float *told)
{
    const int lane = LANE(0) % LANES;
    for (int i = LANE(0) / LANES; i < TM; i += ITEMS / LANES) {
        const uint at = (uint)min(i, rows - 1) * (uint)stride;
        float4 sum = (float4)(0.0f);
        for (int c = 4 * lane; c < WIDTH && rows > 0; c += 4 * LANES) {
            const uint4 g = convert_uint4(rounded_quad(row_quad(dy + at, c)));
            sum += as_float4(g << 16) * row_quad(o + at, c);
        }
        told[i * (LANES + 1) + lane] = sum.x + sum.y + sum.z + sum.w;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    end_deltas(deltas, delta, told, LANES, rows, TM);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* s = p (dp - delta) from scores s. */
INLINE void turn_to_slopes(unit_sums *s, const unit_sums *dp, local const float *tops,
                           local const float *shares, local const float *deltas,
                           float scale)
{
    EACH_QUAD(m, n)
    {
        const int row = QUAD_ROW(m, n);
        const float4 w = weight_below(unit_quad(s, m, n) - tops[row], scale);
        const float4 slope = (unit_quad(dp, m, n) - deltas[row]) * shares[row];
        unit_set_quad(s, m, n, w * slope);
    }
}

// delta_i = <dO_i, O_i>, dq_i += scale sum_j ds_ij k_j, ds_ij = p_ij (keep_ij
// <dO_i, v_j> - delta_i)
WORK_GROUP(ITEMS, 1, 1)
UNIT_ATTRIBUTE
kernel void attention_grad_q(
    global float *dq, global float *restrict delta, global const float *restrict dy,
    global const float *restrict o, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int mode)
{
    local ushort own[2 * OWN_SIZE] __attribute__((aligned(16)));
    local ushort tiles[TILES_SIZE] __attribute__((aligned(16)));
    local float tops[TM], shares[TM], deltas[TM];
    local uint scratch[SCRATCH];
    volatile local int odd;
    local ushort *x = tiles, *y = tiles + WEIGHT_TILES * A_SIZE;
    local uchar *keeps = (local uchar *)x;
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int h = GROUP(1), first = GROUP(0) * TM, rows = min(e.T - first, TM);
    const int end = rows > 0 ? clamp(first + rows + e.reach, 0, e.S) : 0;
    const int row = e.q_first + first, all = min(e.S, first + e.reach + 1);
    const int stride = a.heads * WIDTH;
    const size_t out = o_row(a, row, h, WIDTH), stat = statistic(a, row, h);
    unit_sums s, dp, z;
    unit_clear(&z);
    odd = 0;
    note_deltas(deltas, delta + stat, dy + out, o + out, stride, rows,
                (local float *)y);
    load_shares(tops, shares, lse + stat, statistics(a), rows, TM);
    load_own(own, q + q_row(a, row, h, WIDTH), a.q_stride, rows);
    load_own(own + OWN_SIZE, dy + out, stride, rows);
    for (int j = 0; TOGETHER(j < end); j += TN) {
        const int key = e.k_first + j;
        global const float *keys = k + k_row(a, key, h, WIDTH);
        draw_keeps(keeps, a, row, h, j, TM);
        unit_scores(&s, own, keys, a.k_stride, end - j, y, scratch);
        unit_scores(&dp, own + OWN_SIZE, v + v_row(a, key, h, WIDTH), a.v_stride,
                    end - j, y, scratch);
        unit_drop(&dp, keeps, a.drop);
        turn_to_slopes(&s, &dp, tops, shares, deltas, a.scale);
        if (j + TN > all) {
            unit_hide(&s, e.S, first, e.reach, j, HIDDEN);
        }
        unit_mix(&z, &s, keys, a.k_stride, end - j, x, y, &odd, scratch);
    }
    unit_store(dq + q_row(a, row, h, WIDTH), a.q_stride, &z, rows, a.scale, mode);
}
