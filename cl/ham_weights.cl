/* ham_weights.cl - the gradient of c, whose softmax is the weights of levels.
 *
 * Layout: as ham.clh; c, dc [depth].
 * Work-group: WG items, one group in all.
 * Defines: WG, a power of two; DEPTH_MOST, the most levels.
 * Numerics: f32, in an order that does not depend on the device.
 * Writes: dc whole (added to when add). */
#include "ham.clh"

#ifndef WG
#define WG 64
#endif
#ifndef DEPTH_MOST
#define DEPTH_MOST 256
#endif

/* dc_l (+)= w_l (dw_l - sum_k w_k dw_k), dw_l the sum of partial over l's runs */
WORK_GROUP(WG, 1, 1)
kernel void ham_weights(global float *restrict dc, global float *restrict grads,
                        global const float *restrict c, ham_args g)
{
    local float scratch[WG], dw[DEPTH_MOST];
    const int lid = LANE(0);
    const level_softmax w = softmax_of(c, g.depth);
    float mean = 0.0f;
    for (int l = 0; l < g.depth; l++) {
        global const float *partial = partial_of(grads, l, g);
        float x = 0.0f;
        for (int n = lid; n < g.sequences * g.runs; n += WG) {
            x += partial[n];
        }
        x = group_sum(x, scratch, lid, WG);
        if (lid == 0) {
            dw[l] = x;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = 0; l < g.depth; l++) {
        mean += weight_of(c, l, w) * dw[l];
    }
    for (int l = lid; l < g.depth; l += WG) {
        const float z = weight_of(c, l, w) * (dw[l] - mean);
        dc[l] = g.mode == GRAD_ADD ? dc[l] + z : z;
    }
}
