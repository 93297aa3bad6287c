/* custom_band_tile.cl - attention inside a narrow window whose scores pass through
 * generated code, for CPU devices. There is no expression for weights, and inputs get
 * no gradients here.
 *
 * Layout: q, k, v, o and lse as attention.clh; spans [N], rows of a token's sequence;
 * offsets [B+1].
 * Work-group: 1 item, QUERIES queries of one head each; heads run fastest.
 * Defines: WIDTH = d; VEC; QUERIES and KEYS as band_tile.clh.
 * Numerics: running maximum over pieces of keys; sums in f32, in a fixed order.
 * Writes: o whole; lse whole if not null; the wanted gradients (the three may share
 *         memory). */
#define CUSTOM
#include "band_backward_tile.clh"
#include "band_forward_tile.clh"

INLINE band_bias band_bias_of(global const int2 *spans, global const int *offsets,
                              custom_args c, int h)
{
    band_bias b;
    b.e.a = c;
    b.e.h = h;
    b.e.b = 0;
    b.spans = spans;
    b.offsets = offsets;
    return b;
}

// o_i = sum_j p_ij v_j, p = softmax over |i - j| <= radius of score(scale <q_i,k_j>)
WORK_GROUP(1, 1, 1)
kernel void custom_band_forward(global float *restrict o, global float *restrict lse,
                                global const float *restrict q,
                                global const float *restrict k,
                                global const float *restrict v,
                                global const int2 *restrict spans,
                                global const int *restrict offsets, attention_args a,
                                band_args b, custom_args c INPUT_PARAMETERS)
{
    band_bias bias = band_bias_of(spans, offsets, c, GROUP(0) % a.heads);
    SET_INPUTS(bias.e)
    band_forward(o, lse, q, k, v, spans, a, b, &bias);
}

// dq_i = scale sum_j ds_ij score'_ij k_j, dk_j = scale sum_i ds_ij score'_ij q_i,
// dv_j = sum_i keep_ij p_ij dO_i
WORK_GROUP(1, 1, 1)
kernel void custom_band_backward(
    global float *dq, global float *dk, global float *dv,
    global const float *restrict dy, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const float *restrict delta,
    global const int2 *restrict spans, global const int *restrict offsets,
    attention_args a, band_args b, custom_args c INPUT_PARAMETERS)
{
    band_bias bias = band_bias_of(spans, offsets, c, GROUP(0) % a.heads);
    SET_INPUTS(bias.e)
    const band_operands x = { dq, dk, dv, dy, q, k, v, lse, delta, spans, &bias };
    band_backward(&x, a, b);
}
