/* attention_unit_grad_kv.cl - attention_grad_kv on a GPU's matrix unit, a tile of keys
 * to each work-group.
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: ITEMS items to TM keys, see attention_unit_group.clh; grid (tiles of the
 *             longest sequence, H, B). Trip counts depend on the group only.
 * Defines: those of attention_unit_group.clh; KEYS, VALUES: 1 for the gradients that
 *          this launch computes.
 * Local: 2 (2 OWN_SIZE + TILES_SIZE) + 12 TN bytes, an int.
 * Numerics: products of bf16 numbers with f32 sums; recomputes the weights from lse,
 *           with keys as rows and queries as columns.
 * Writes: every row of the gradients, or adds to them, by mode. A tile belongs to one
 *         group and blocks come in order, so two runs give the same bits. */
#include "attention_unit_group.clh"

#ifndef KEYS
#define KEYS   1
#define VALUES 1
#endif

INLINE float4 quad_at(local const float *x, int column)
{
    return (float4)(x[column], x[column + 1], x[column + 2], x[column + 3]);
}

/* Turns scores s into weights and dp into slopes p (dp - delta); queries are in
 * columns. */
INLINE void weigh(unit_sums *s, unit_sums *dp, local const float *tops,
                  local const float *rests, local const float *deltas, float scale)
{
    EACH_QUAD(m, n)
    {
        const int column = QUAD_COLUMN(n);
        const float4 top = quad_at(tops, column), rest = quad_at(rests, column);
        const float4 below = (unit_quad(s, m, n) - top) * (scale * LOG2_E);
        const float4 w = native_exp2(below - rest);
        unit_set_quad(dp, m, n, w * (unit_quad(dp, m, n) - quad_at(deltas, column)));
        unit_set_quad(s, m, n, w);
    }
}

/* Sets what belongs to hidden pairs to HIDDEN: rows are keys from key on, columns
 * queries from i on, which see keys up to their own number + reach. */
INLINE void hide_queries(unit_sums *s, int queries, int key, int reach, int i)
{
    EACH_QUAD(m, n)
    {
        const int4 query = (int4)(0, 1, 2, 3) + (i + QUAD_COLUMN(n));
        const int4 seen =
            query < (int4)(queries) && query >= (int4)(key + QUAD_ROW(m, n) - reach);
        unit_set_quad(s, m, n, select((float4)(HIDDEN), unit_quad(s, m, n), seen));
    }
}

// dk_j += scale sum_i ds_ij q_i, dv_j += sum_i keep_ij p_ij dO_i
WORK_GROUP(ITEMS, 1, 1)
UNIT_ATTRIBUTE
kernel void attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int k_mode, int v_mode)
{
    local ushort own[2 * OWN_SIZE] __attribute__((aligned(16)));
    local ushort tiles[TILES_SIZE] __attribute__((aligned(16)));
    local float tops[TN], rests[TN], deltas[TN];
    local uint scratch[SCRATCH];
    volatile local int odd;
    local ushort *x = tiles, *y = tiles + WEIGHT_TILES * A_SIZE;
    local uchar *keeps = (local uchar *)x;
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int h = GROUP(1), first = GROUP(0) * TM, rows = min(e.S - first, TM);
    const int begin = max(first - e.reach, 0), end = rows > 0 ? e.T : 0;
    const int row = e.k_first + first, o_stride = a.heads * WIDTH;
    unit_sums s, dp, z, gz;
    unit_clear(&z);
    unit_clear(&gz);
    odd = 0;
    load_own(own, k + k_row(a, row, h, WIDTH), a.k_stride, rows);
    load_own(own + OWN_SIZE, v + v_row(a, row, h, WIDTH), a.v_stride, rows);
    for (int i = begin; TOGETHER(i < end); i += TN) {
        const int query = e.q_first + i, count = end - i;
        global const float *queries = q + q_row(a, query, h, WIDTH);
        global const float *out = dy + o_row(a, query, h, WIDTH);
        load_statistics(tops, rests, deltas, lse, delta, statistic(a, query, h),
                        statistics(a), count, TN);
        draw_keeps(keeps, a, query, h, first, TN);
        unit_scores(&s, own, queries, a.q_stride, count, y, scratch);
        unit_scores(&dp, own + OWN_SIZE, out, o_stride, count, y, scratch);
        unit_drop_turned(&dp, keeps, a.drop);
        weigh(&s, &dp, tops, rests, deltas, a.scale);
        unit_drop_turned(&s, keeps, a.drop);
        if (count < TN || i + e.reach < first + TM - 1) {
            hide_queries(&s, e.T, first, e.reach, i);
            hide_queries(&dp, e.T, first, e.reach, i);
        }
        if (VALUES) {
            unit_mix(&gz, &s, out, o_stride, count, x, y, &odd, scratch);
        }
        if (KEYS) {
            unit_mix(&z, &dp, queries, a.q_stride, count, x, y, &odd, scratch);
        }
    }
    // dk first: if keys and values are one tensor, dv is added to dk
    unit_store(dk + k_row(a, row, h, WIDTH), a.k_stride, &z, rows, a.scale,
               KEYS ? k_mode : GRAD_SKIP);
    unit_store(dv + v_row(a, row, h, WIDTH), a.v_stride, &gz, rows, 1.0f,
               VALUES ? v_mode : GRAD_SKIP);
}
