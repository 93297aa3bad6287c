/* attention_tile.cl - fused attention, a tile of rows to each work-item (CPU devices).
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: 1 item; grid (tiles of the longest sequence, H, B), of the forward pass
 *             (1, H, B) if WHOLE is 1.
 * Defines: WIDTH = d; VEC; ROWS, vectors of a tile; WHOLE.
 * Numerics: online softmax, exp2_below; backward recomputes the weights from lse.
 * Writes: every row of o and lse; every row of the gradients, or adds to them, by mode.
 *         A tile belongs to one item and blocks come in order, so two runs give the
 *         same bits. */
#include "attention_pass_tile.clh"

// o_i = sum_j p_ij v_j, lse_i = m_i + ln(sum_j exp(s_ij - m_i)); lse may be null
WORK_GROUP(1, 1, 1)
kernel void attention_forward(global float *restrict o, global float *restrict lse,
                              global const float *restrict q,
                              global const float *restrict k,
                              global const float *restrict v,
                              global const int *restrict q_offsets,
                              global const int *restrict k_offsets, attention_args a)
{
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { 0, 0, 0 };
    attend_tiles(o, lse, q, k, v, e, GROUP(0), GROUP(1), a, &b);
}

// dq_i += scale sum_j ds_ij k_j, ds_ij = p_ij (keep_ij <dO_i, v_j> - delta_i)
WORK_GROUP(1, 1, 1)
kernel void attention_grad_q(
    global float *dq, global float *delta, global const float *restrict dy,
    global const float *restrict o, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int mode)
{
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { 0, 0, 0 };
    back_to_queries(dq, dy, q, k, v, lse, delta, o, e, GROUP(0) * TILE, GROUP(1), a,
                    mode, &b);
}

// dk_j += scale sum_i ds_ij q_i, dv_j += sum_i keep_ij p_ij dO_i
WORK_GROUP(1, 1, 1)
kernel void attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int k_mode, int v_mode)
{
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { 0, 0, 0 };
    back_to_keys(dk, dv, dy, q, k, v, lse, delta, e, GROUP(0) * TILE, GROUP(1), a,
                 k_mode, v_mode, &b);
}
