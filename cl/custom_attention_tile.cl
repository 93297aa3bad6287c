/* custom_attention_tile.cl - attention whose scores pass through generated code, a tile
 * of rows to each work-item (CPU devices).
 *
 * Layout: as attention.clh; offsets [B+1]; parts [workers,slice], each a copy of the
 * inputs' gradients, but for those of which each query has an element of its own.
 * Work-group: 1 item; grid (tiles of the longest sequence, H, B), or (workers) where
 *             inputs get gradients, or (1, H, B) if WHOLE is 1.
 * Defines: WIDTH = d; VEC; ROWS, vectors of a tile; WHOLE.
 * Numerics: online softmax, exp2_below; backward recomputes the weights from lse.
 * Writes: every row of o, lse and delta; every row of the gradients, or adds to them,
 *         by mode; adds to parts. A tile belongs to one item, blocks and the tiles of a
 *         worker come in order, so two runs give the same bits. */
#define CUSTOM
#include "attention_pass_tile.clh"
#include "custom_weight_tile.clh"

#if CELLS
// cells[b,h,row,column] = whether the mask shows a pair of VEC queries and VEC keys
WORK_GROUP(1, 1, 1)
kernel void custom_attention_cells(global uchar *restrict shown,
                                   global const int *restrict q_offsets,
                                   global const int *restrict k_offsets,
                                   attention_args a, custom_args c INPUT_PARAMETERS)
{
    const int row = GROUP(0), h = GROUP(1);
    const sequence s = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    scope e = scope_of(s, c, h, GROUP(2));
    SET_INPUTS(e)
    const intv i = count_up(row * VEC);
    shown += cell_at(&e, row);
    for (int column = 0; column < c.cell_columns; column++) {
        const int end = row * VEC < s.T ? min(column * VEC + VEC, s.S) : 0;
        bool some = false;
        for (int j = column * VEC; j < end && !some; j++) {
            some = any(mask_keys(&e, (floatv)(0.0f), i, j));
        }
        shown[column] = some;
    }
}
#endif

// o_i = sum_j weight(p_ij) v_j, p = softmax(score(scale <q_i,k_j>, i, j)); lse may be
// null
WORK_GROUP(1, 1, 1)
kernel void custom_attention_forward(global float *restrict o,
                                     global float *restrict lse,
                                     global const float *restrict q,
                                     global const float *restrict k,
                                     global const float *restrict v,
                                     global const int *restrict q_offsets,
                                     global const int *restrict k_offsets,
                                     attention_args a, custom_args c INPUT_PARAMETERS)
{
    floatv raw[RAW_ROWS][ROWS], sum[SUMS + 1];
    const int h = GROUP(1);
    sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { scope_of(e, c, h, GROUP(2)), 0, raw, 0, sum, 0, 0 };
    SET_INPUTS(b.e)
    e.reach = min(e.reach, c.apart);
#if REWEIGH == 2
    const int begin = GROUP(0) * TILE, end = WHOLE ? e.T : begin + TILE;
    for (int first = begin; first < end; first += TILE) {
        attend_weighted(o, lse, q, k, v, e, first, h, a, &b);
    }
#else
    attend_tiles(o, lse, q, k, v, e, GROUP(0), h, a, &b);
#endif
}

#if REWEIGH == 2
// delta_i = sum_j p_ij weight'(p_ij) keep_ij <dO_i, v_j>, where it is not <dO_i, o_i>
WORK_GROUP(1, 1, 1)
kernel void custom_attention_delta(
    global float *restrict delta, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    attention_args a, custom_args c INPUT_PARAMETERS)
{
    floatv raw[RAW_ROWS][ROWS], sum[SUMS + 1];
    const int h = GROUP(1);
    sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { scope_of(e, c, h, GROUP(2)), 0, raw, 0, sum, 0, 0 };
    SET_INPUTS(b.e)
    e.reach = min(e.reach, c.apart);
    weighted_delta(delta, dy, q, k, v, lse, e, GROUP(0) * TILE, h, a, &b);
}
#endif

// dq_i += scale sum_j ds_ij score'_ij k_j, parts += ds_ij d score_ij / d input
WORK_GROUP(1, 1, 1)
kernel void custom_attention_grad_q(
    global float *dq, global float *restrict parts, global float *delta,
    global const float *restrict dy, global const float *restrict o,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    attention_args a, custom_args c, int mode OWN_PARAMETERS INPUT_PARAMETERS)
{
    const own_gradient own[] = OWN_GRADIENTS(c.add);
    floatv raw[RAW_ROWS][ROWS], sum[SUMS + 1], row[ROW_SUMS][ROWS];
    const int begin = GROUP(0) * c.run, end = min(begin + c.run, c.items);
    for (int n = begin; n < end; n++) {
        const int h = n / c.tiles % a.heads, sample = n / c.tiles / a.heads;
        sequence e = sequence_of(q_offsets, k_offsets, sample, a.causal);
        bias b = { scope_of(e, c, h, sample), parts, raw, 0, sum, row, own };
        SET_INPUTS(b.e)
        b.parts += READS + WEIGHT_READS ? (size_t)GROUP(0) * (size_t)c.slice : 0;
        e.reach = min(e.reach, c.apart);
        back_to_queries(dq, dy, q, k, v, lse, delta, o, e, n % c.tiles * TILE, h, a,
                        mode, &b);
    }
}

// dk_j += scale sum_i ds_ij score'_ij q_i, dv_j += sum_i keep_ij weight(p_ij) dO_i
WORK_GROUP(1, 1, 1)
kernel void custom_attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, custom_args c, int k_mode,
    int v_mode INPUT_PARAMETERS)
{
    floatv raw[RAW_ROWS][ROWS], weight[WEIGHT_ROWS][ROWS], sum[SUMS + 1];
    const int h = GROUP(1);
    sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { scope_of(e, c, h, GROUP(2)), 0, raw, weight, sum, 0, 0 };
    SET_INPUTS(b.e)
    e.reach = min(e.reach, c.apart);
    back_to_keys(dk, dv, dy, q, k, v, lse, delta, e, GROUP(0) * TILE, h, a, k_mode,
                 v_mode, &b);
}
