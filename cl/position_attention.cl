/* position_attention.cl - attention with a table of biases by position; each work-group
 * has a tile of rows (GPUs).
 *
 * Layout: as attention.clh; offsets [B+1]; tables as position_attention.clh, n counts
 * the tile's rows.
 * Work-group: WG items, see attention_group.clh; grid (tiles of the longest sequence,
 *             H, B; in grad_q runs of sequences for B). Trip counts depend on the group
 *             only.
 * Defines: WIDTH = d.
 * Numerics: online softmax in f32; backward recomputes the weights from lse.
 * Writes: every row of o and lse; every row of the gradients (added to with GRAD_ADD);
 *         adds to sums. A tile belongs to one group, blocks and sequences come in
 *         order, so two runs give the same bits. */
#include "attention_pass_group.clh"
#include "position_attention.clh"

// o_i = sum_j p_ij v_j, p = softmax(scale <q_i,k_j> + table_ij); lse may be null
WORK_GROUP(WG, 1, 1)
kernel void position_attention_forward(
    global float *restrict o, global float *restrict lse,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict table,
    global const int *restrict offsets, attention_args a, position_args s)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    local float fade[TILE], tops[TILE];
    const int h = GROUP(1);
    const sequence e = sequence_of(offsets, offsets, GROUP(2), a.causal);
    bias b = { table + table_of(s, h), 0, s.step };
    attend(o, lse, q, k, v, e, tile_of(GROUP(0) * TILE, e.q_first, e.T), h, a, &b, x, y,
           w, fade, tops);
}

// dq_i (+)= scale sum_j ds_ij k_j, sums_ij += ds_ij of a run of sequences, if not null
WORK_GROUP(WG, 1, 1)
kernel void position_attention_grad_q(
    global float *dq, global float *restrict sums, global float *delta,
    global const float *restrict dy, global const float *restrict o,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict table, global const int *restrict offsets,
    attention_args a, position_args s, int mode)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    const int h = GROUP(1), begin = GROUP(2) * s.run;
    const int end = min(begin + s.run, s.sequences);
    global float *to = sums ? sums + sums_of(s, a.heads, GROUP(2), h, GROUP(0)) : 0;
    bias b = { table + table_of(s, h), to, s.step };
    for (int n = begin; TOGETHER(n < end); n++) {
        const sequence e = sequence_of(offsets, offsets, n, a.causal);
        back_to_queries(dq, dy, q, k, v, lse, delta, o, e,
                        tile_of(GROUP(0) * TILE, e.q_first, e.T), h, a, mode, &b, x, y,
                        w);
    }
}

// dk_j (+)= scale sum_i ds_ij q_i, dv_j (+)= sum_i keep_ij p_ij dO_i; n counts keys
WORK_GROUP(WG, 1, 1)
kernel void position_attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const float *restrict table,
    global const int *restrict offsets, attention_args a, position_args s, int k_mode,
    int v_mode)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    const int h = GROUP(1);
    const sequence e = sequence_of(offsets, offsets, GROUP(2), a.causal);
    bias b = { table + table_of(s, h), 0, s.step };
    back_to_keys(dk, dv, dy, q, k, v, lse, delta, e,
                 tile_of(GROUP(0) * TILE, e.k_first, e.S), h, a, k_mode, v_mode, &b, x,
                 y, w);
}
