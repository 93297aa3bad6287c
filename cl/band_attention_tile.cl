/* band_attention_tile.cl - attention inside a window, for CPU devices.
 *
 * Layout: q, k, v, o and lse as attention.clh; spans [N], rows of a token's sequence.
 * Work-group: 1 item, QUERIES queries of one head each; heads run fastest.
 * Defines: WIDTH = d; VEC; QUERIES and KEYS as band_tile.clh.
 * Numerics: running maximum over pieces of keys; sums in f32, in a fixed order.
 * Writes: o whole; lse whole if not null; the wanted gradients (the three may share
 *         memory). */
#include "band_backward_tile.clh"
#include "band_forward_tile.clh"

// o_i = sum_j p_ij v_j,  p = softmax over |i - j| <= radius of <q_i, k_j> / sqrt(d)
WORK_GROUP(1, 1, 1)
kernel void band_attention_forward(global float *restrict o, global float *restrict lse,
                                   global const float *restrict q,
                                   global const float *restrict k,
                                   global const float *restrict v,
                                   global const int2 *restrict spans, attention_args a,
                                   band_args b)
{
    band_forward(o, lse, q, k, v, spans, a, b, 0);
}

// dq_i = sum_j dS_ij k_j / sqrt(d), dk_j = sum_i dS_ij q_i / sqrt(d),
// dv_j = sum_i keep_ij P_ij dO_i
WORK_GROUP(1, 1, 1)
kernel void band_attention_backward(
    global float *dq, global float *dk, global float *dv,
    global const float *restrict dy, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const float *restrict delta,
    global const int2 *restrict spans, attention_args a, band_args b)
{
    const band_operands x = { dq, dk, dv, dy, q, k, v, lse, delta, spans, 0 };
    band_backward(&x, a, b);
}
