/* band_attention_2d.cl - attention inside a window of positions and heads.
 *
 * Layout: q, k, v, o and lse as attention.clh; spans [N], rows of a token's sequence.
 * Work-group: DOWN x ACROSS items, 8 DOWN rows of one head; heads run fastest.
 * Defines: those of band_group.clh.
 * Numerics: running maximum over rounds of keys; sums in f32, in a fixed order. A row
 *           that is not finite affects only the rows that see it.
 * Writes: o whole; lse whole if not null; the wanted gradients (the three may share
 *         memory). */
#include "band_backward_group.clh"
#include "band_forward_group.clh"

// o_i = sum over (g, j) of p_igj v_gj,  p = softmax over them of <q_i, k_gj> / sqrt(d)
WORK_GROUP(ITEMS, 1, 1)
kernel void band_attention_2d_forward(global float *restrict o,
                                      global float *restrict lse,
                                      global const float *restrict q,
                                      global const float *restrict k,
                                      global const float *restrict v,
                                      global const int2 *restrict spans,
                                      attention_args a, band_args b)
{
    local band_forward_local t __attribute__((aligned(16)));
    band_forward(&t, o, lse, q, k, v, spans, a, b);
}

// dq_i = sum over (g, j) of dS_igj k_gj / sqrt(d)
WORK_GROUP(ITEMS, 1, 1)
kernel void band_attention_2d_dq(
    global float *dq, global float *delta, global const float *restrict dy,
    global const float *restrict o, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const int2 *restrict spans,
    attention_args a, band_args b)
{
    local band_backward_local t __attribute__((aligned(16)));
    const band_operands x = { dy, q, k, v, lse, 0, spans };
    band_backward_dq(&t, dq, delta, o, &x, a, b);
}

// dk_gj = sum over (h, i) of dS_igj q_i / sqrt(d),  dv_gj = sum of keep_igj P_igj dO_i
WORK_GROUP(ITEMS, 1, 1)
kernel void band_attention_2d_dkdv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int2 *restrict spans,
    attention_args a, band_args b)
{
    local band_backward_local t __attribute__((aligned(16)));
    const band_operands x = { dy, q, k, v, lse, delta, spans };
    band_backward_dkdv(&t, dk, dv, &x, a, b);
}
