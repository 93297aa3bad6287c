/* custom_attention.cl - attention whose scores pass through generated code, a tile of
 * rows to each work-group (GPUs).
 *
 * Layout: as attention.clh; offsets [B+1]; parts [workers,slice], each a copy of the
 * inputs' gradients, but for those of which each query has an element of its own.
 * Work-group: WG items, see attention_group.clh; grid (tiles of the longest sequence,
 *             H, B), or (workers) for dQ. Trip counts of loops with a barrier depend on
 *             the group only.
 * Defines: WIDTH = d.
 * Numerics: online softmax in f32; backward recomputes the weights from lse.
 * Writes: every row of o, lse and delta; every row of the gradients, or adds to them,
 *         by mode; adds to parts. A tile belongs to one group, blocks and the tiles of
 *         a worker come in order, so two runs give the same bits. */
#define CUSTOM
#include "attention_pass_group.clh"
#include "custom_weight_group.clh"

// o_i = sum_j weight(p_ij) v_j, p = softmax(score(scale <q_i,k_j>, i, j)); lse may be
// null
WORK_GROUP(WG, 1, 1)
kernel void custom_attention_forward(global float *restrict o,
                                     global float *restrict lse,
                                     global const float *restrict q,
                                     global const float *restrict k,
                                     global const float *restrict v,
                                     global const int *restrict q_offsets,
                                     global const int *restrict k_offsets,
                                     attention_args a, custom_args c INPUT_PARAMETERS)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    local float fade[TILE], tops[TILE];
    local int seen;
    float raw[R][C];
    const int h = GROUP(1);
    sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { scope_of(e, c, h, GROUP(2)), 0, raw, 0, 0, 0, 0, &seen, 0, 0 };
    SET_INPUTS(b.e)
    e.reach = min(e.reach, c.apart);
    const span t = tile_of(GROUP(0) * TILE, e.q_first, e.T);
#if REWEIGH == 2
    attend_weighted(o, lse, q, k, v, e, t, h, a, &b, x, y, w, fade, tops);
#else
    attend(o, lse, q, k, v, e, t, h, a, &b, x, y, w, fade, tops);
#endif
}

#if REWEIGH == 2
// delta_i = sum_j p_ij weight'(p_ij) keep_ij <dO_i, v_j>, where it is not <dO_i, o_i>
WORK_GROUP(WG, 1, 1)
kernel void custom_attention_delta(
    global float *restrict delta, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    attention_args a, custom_args c INPUT_PARAMETERS)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    local int seen;
    float raw[R][C];
    const int h = GROUP(1);
    sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { scope_of(e, c, h, GROUP(2)), 0, raw, 0, 0, 0, 0, &seen, 0, 0 };
    SET_INPUTS(b.e)
    e.reach = min(e.reach, c.apart);
    weighted_delta(delta, dy, q, k, v, lse, e, tile_of(GROUP(0) * TILE, e.q_first, e.T),
                   h, a, &b, x, y, w);
}
#endif

// dq_i += scale sum_j ds_ij score'_ij k_j, parts += ds_ij d score_ij / d input
WORK_GROUP(WG, 1, 1)
kernel void custom_attention_grad_q(
    global float *dq, global float *restrict parts, global float *delta,
    global const float *restrict dy, global const float *restrict o,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    attention_args a, custom_args c, int mode OWN_PARAMETERS INPUT_PARAMETERS)
{
    const own_gradient own[] = OWN_GRADIENTS(c.add);
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    local float gifts[GIFTS];
    local int places[GIFTS], seen;
    float raw[R][C], sum[SUMS + 1], row[ROW_SUMS];
    const int begin = GROUP(0) * c.run, end = min(begin + c.run, c.items);
    for (int n = begin; TOGETHER(n < end); n++) {
        const int h = n / c.tiles % a.heads, sample = n / c.tiles / a.heads;
        sequence e = sequence_of(q_offsets, k_offsets, sample, a.causal);
        bias b = { scope_of(e, c, h, sample),
                   parts,
                   raw,
                   0,
                   sum,
                   places,
                   gifts,
                   &seen,
                   row,
                   own };
        SET_INPUTS(b.e)
        b.parts += READS + WEIGHT_READS ? (size_t)GROUP(0) * (size_t)c.slice : 0;
        e.reach = min(e.reach, c.apart);
        for (int i = 0; i < SUMS; i++) {
            sum[i] = 0.0f;
        }
        for (int i = 0; i < ROW_SUMS; i++) {
            row[i] = 0.0f;
        }
        back_to_queries(dq, dy, q, k, v, lse, delta, o, e,
                        tile_of(n % c.tiles * TILE, e.q_first, e.T), h, a, mode, &b, x,
                        y, w);
    }
}

// dk_j += scale sum_i ds_ij score'_ij q_i, dv_j += sum_i keep_ij weight(p_ij) dO_i
WORK_GROUP(WG, 1, 1)
kernel void custom_attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, custom_args c, int k_mode,
    int v_mode INPUT_PARAMETERS)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    local int seen;
    float raw[R][C], weight[R][C];
    const int h = GROUP(1);
    sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    bias b = { scope_of(e, c, h, GROUP(2)), 0, raw, weight, 0, 0, 0, &seen, 0, 0 };
    SET_INPUTS(b.e)
    e.reach = min(e.reach, c.apart);
    back_to_keys(dk, dv, dy, q, k, v, lse, delta, e,
                 tile_of(GROUP(0) * TILE, e.k_first, e.S), h, a, k_mode, v_mode, &b, x,
                 y, w);
}
