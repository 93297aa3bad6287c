/* position_attention_tile.cl - attention with a table of biases by position; each
 * work-item has a tile of rows (CPU devices).
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1]; tables as
 *         position_attention.clh, m counts the tile's rows.
 * Work-group: 1 item; grid (tiles of the longest sequence, H, B; in grad_q runs of
 *             sequences for B; of the forward pass (1, H, B) if WHOLE is 1).
 * Defines: WIDTH = d; VEC; ROWS, vectors of a tile; WHOLE.
 * Numerics: online softmax, exp2_below; backward recomputes the weights from lse.
 * Writes: every row of o and lse; every row of the gradients (added to with GRAD_ADD);
 *         adds to sums. A tile belongs to one item, blocks and sequences come in
 *         order, so two runs give the same bits. */
#include "attention_pass_tile.clh"
#include "position_attention.clh"

// o_i = sum_j p_ij v_j, p = softmax(scale <q_i,k_j> + table_ij); lse may be null
WORK_GROUP(1, 1, 1)
kernel void attention_forward(global float *restrict o, global float *restrict lse,
                              global const float *restrict q,
                              global const float *restrict k,
                              global const float *restrict v,
                              global const int *restrict q_offsets,
                              global const int *restrict k_offsets, attention_args a,
                              global const float *restrict table, position_args t)
{
    const int h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { table + table_of(t, h), 0, t.step };
    attend_tiles(o, lse, q, k, v, e, GROUP(0), h, a, &b);
}

// dq_i (+)= scale sum_j ds_ij k_j, sums_ij += ds_ij of a run of sequences, if not null
WORK_GROUP(1, 1, 1)
kernel void attention_grad_q(
    global float *dq, global float *delta, global const float *restrict dy,
    global const float *restrict o, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int mode,
    global const float *restrict table, position_args t, global float *restrict sums)
{
    const int h = GROUP(1), begin = GROUP(2) * t.run;
    const int end = min(begin + t.run, t.sequences);
    global float *to = sums ? sums + sums_of(t, a.heads, GROUP(2), h, GROUP(0)) : 0;
    bias b = { table + table_of(t, h), to, t.step };
    for (int n = begin; n < end; n++) {
        const sequence e = sequence_of(q_offsets, k_offsets, n, a.causal);
        back_to_queries(dq, dy, q, k, v, lse, delta, o, e, GROUP(0) * TILE, h, a, mode,
                        &b);
    }
}

// dk_j (+)= scale sum_i ds_ij q_i, dv_j (+)= sum_i keep_ij p_ij dO_i; m counts keys
WORK_GROUP(1, 1, 1)
kernel void attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int k_mode, int v_mode,
    global const float *restrict table, position_args t)
{
    const int h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { table + table_of(t, h), 0, t.step };
    back_to_keys(dk, dv, dy, q, k, v, lse, delta, e, GROUP(0) * TILE, h, a, k_mode,
                 v_mode, &b);
}
