/* custom_backward_tile.cl - all gradients of one head of a sequence by a work-item, for
 * scores that pass through generated code, without an expression for weights.
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1]; parts [B*H,slice], each a copy
 * of the inputs' gradients.
 * Work-group: 1 item; grid (H, B).
 * Defines: WIDTH = d; VEC; ROWS, vectors of a tile.
 * Numerics: exp2_below; recomputes the weights from lse.
 * Writes: every row of the wanted gradients, or adds to them, by mode; adds to parts.
 *         Tiles of keys add to dq in order, so two runs give the same bits. */
#define CUSTOM
#include "attention_backward_tile.clh"

// ds_ij = p_ij (keep_ij <dO_i, v_j> - delta_i) and parts += ds_ij d score_ij / d input;
// dq_i += scale sum_j ds_ij score'_ij k_j, dk_j += scale sum_i ds_ij score'_ij q_i,
// dv_j += sum_i keep_ij p_ij dO_i
WORK_GROUP(1, 1, 1)
kernel void custom_attention_backward(
    global float *dq, global float *dk, global float *dv, global float *restrict parts,
    global float *delta, global const float *restrict dy,
    global const float *restrict o, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, custom_args c,
    attention_modes modes INPUT_PARAMETERS)
{
    const own_gradient own[ROW_READS + 1] = { { 0, 0 } };
    floatv raw[RAW_ROWS][ROWS], sum[SUMS + 1], row[ROW_SUMS][ROWS];
    const int h = GROUP(0), sample = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, sample, a.causal);
    const size_t q_at = q_row(a, e.q_first, h, WIDTH);
    const size_t k_at = k_row(a, e.k_first, h, WIDTH);
    const size_t v_at = v_row(a, e.k_first, h, WIDTH);
    const size_t o_at = o_row(a, e.q_first, h, WIDTH);
    const size_t at = statistic(a, e.q_first, h);
    const head_rows x = {
        dq + q_at,
        dk + k_at,
        dv + v_at,
        dy + o_at,
        o ? o + o_at : 0,
        q + q_at,
        k + k_at,
        v + v_at,
        delta + at,
        query_stats_of(lse, delta, at, a, 1.0f),
        e,
        h,
    };
    bias b = { scope_of(e, c, h, sample), parts, raw, 0, sum, row, own };
    SET_INPUTS(b.e)
    b.parts += READS ? (size_t)(sample * a.heads + h) * (size_t)c.slice : 0;
    bias_begin(&b, 0, 0);
    head_backward(&x, a, modes, &b);
    bias_end(&b, 0, 0);
}
