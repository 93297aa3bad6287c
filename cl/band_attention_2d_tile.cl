/* band_attention_2d_tile.cl - attention inside a window of positions and heads, for CPU
 * devices.
 *
 * Layout: q, k, v, o and lse as attention.clh; spans [N], rows of a token's sequence.
 * Work-group: 1 item, QUERIES queries of one head each; heads run fastest.
 * Defines: WIDTH = d; VEC; QUERIES and KEYS as band_tile.clh.
 * Numerics: running maximum over pieces of keys; sums in f32, in a fixed order.
 * Writes: o whole; lse whole if not null; the wanted gradients (the three may share
 *         memory). */
#include "band_backward_tile.clh"
#include "band_forward_tile.clh"

// o_i = sum over (g, j) of p_igj v_gj,  p = softmax over them of <q_i, k_gj> / sqrt(d)
WORK_GROUP(1, 1, 1)
kernel void band_attention_2d_forward(global float *restrict o,
                                      global float *restrict lse,
                                      global const float *restrict q,
                                      global const float *restrict k,
                                      global const float *restrict v,
                                      global const int2 *restrict spans,
                                      attention_args a, band_args b)
{
    band_forward(o, lse, q, k, v, spans, a, b, 0);
}

// dq_i = sum dS_igj k_gj / sqrt(d), dk_gj = sum dS_igj q_i / sqrt(d),
// dv_gj = sum keep_igj P_igj dO_i
WORK_GROUP(1, 1, 1)
kernel void band_attention_2d_backward(
    global float *dq, global float *dk, global float *dv,
    global const float *restrict dy, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const float *restrict delta,
    global const int2 *restrict spans, attention_args a, band_args b)
{
    const band_operands x = { dq, dk, dv, dy, q, k, v, lse, delta, spans, 0 };
    band_backward(&x, a, b);
}
