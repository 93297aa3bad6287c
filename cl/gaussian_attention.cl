/* gaussian_attention.cl - attention with a Gaussian around a centre added to its
 * scores; each work-group has a tile of rows (GPUs).
 *
 * Layout: as attention.clh; offsets [B+1]; centres and widths as
 * gaussian_attention.clh.
 * Work-group: WG items, see attention_group.clh; grid (tiles of the longest sequence,
 *             H, B). Trip counts of loops with a barrier depend on the group only.
 * Defines: WIDTH = d.
 * Numerics: online softmax in f32; backward recomputes the weights from lse.
 * Writes: every row of o and lse; every row of the gradients (added to with GRAD_ADD).
 *         A tile belongs to one group and blocks come in order, so two runs give the
 *         same bits. */
#define GAUSSIAN
#include "attention_pass_group.clh"

// o_i = sum_j p_ij v_j, p = softmax(scale <q_i,k_j> + b_ij); lse may be null
WORK_GROUP(WG, 1, 1)
kernel void gaussian_attention_forward(
    global float *restrict o, global float *restrict lse,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict center,
    global const float *restrict sigma, global const int *restrict offsets,
    attention_args a, gaussian_args s)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    local float fade[TILE], tops[TILE];
    const int h = GROUP(1);
    const sequence e = sequence_of(offsets, offsets, GROUP(2), a.causal);
    bias b = { .g = gaussian_of(center, sigma, 0, 0, s, a.heads, e.q_first, h) };
    attend(o, lse, q, k, v, e, tile_of(GROUP(0) * TILE, e.q_first, e.T), h, a, &b, x, y,
           w, fade, tops);
}

// dq_i (+)= scale sum_j ds_ij k_j, d_center_i (+)= sum_j ds_ij z_ij / sigma_i,
// d_sigma_i (+)= sum_j ds_ij z_ij^2 / sigma_i
WORK_GROUP(WG, 1, 1)
kernel void gaussian_attention_grad_q(
    global float *dq, global float *d_center, global float *d_sigma,
    global float *delta, global const float *restrict dy,
    global const float *restrict o, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const float *restrict center,
    global const float *restrict sigma, global const int *restrict offsets,
    attention_args a, gaussian_args s, int mode)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    const int h = GROUP(1);
    const sequence e = sequence_of(offsets, offsets, GROUP(2), a.causal);
    bias b = { .g = gaussian_of(center, sigma, d_center, d_sigma, s, a.heads, e.q_first,
                                h) };
    back_to_queries(dq, dy, q, k, v, lse, delta, o, e,
                    tile_of(GROUP(0) * TILE, e.q_first, e.T), h, a, mode, &b, x, y, w);
}

// dk_j (+)= scale sum_i ds_ij q_i, dv_j (+)= sum_i keep_ij p_ij dO_i
WORK_GROUP(WG, 1, 1)
kernel void gaussian_attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const float *restrict center,
    global const float *restrict sigma, global const int *restrict offsets,
    attention_args a, gaussian_args s, int k_mode, int v_mode)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    const int h = GROUP(1);
    const sequence e = sequence_of(offsets, offsets, GROUP(2), a.causal);
    bias b = { .g = gaussian_of(center, sigma, 0, 0, s, a.heads, e.q_first, h) };
    back_to_keys(dk, dv, dy, q, k, v, lse, delta, e,
                 tile_of(GROUP(0) * TILE, e.k_first, e.S), h, a, k_mode, v_mode, &b, x,
                 y, w);
}
