/* mix_levels.cl - a sum of tensors, weighted by a softmax, and its gradients.
 *
 * Layout: flat arrays of count numbers; c [depth]; partial [depth,groups].
 * Work-group: as elements.clh.
 * Defines: WG, a power of two.
 * Numerics: f32; tensors are added in order. <dy, x> is summed by a tree over a group's
 *   items, then over the groups by ham_weights.cl.
 * Writes: out, partial whole; gradients are added to with GRAD_ADD. */
#include "elements.clh"
#include "ham.clh"
#include "mix_levels_args.h"

// out = (out +) sum of w_l x_l over up to four tensors, w = softmax(c)
WORK_GROUP(WG, 1, 1)
kernel void mix_forward(global float *restrict out, global const float *x0,
                        global const float *x1, global const float *x2,
                        global const float *x3, global const float *restrict c,
                        mix_args g)
{
    const level_softmax s = softmax_of(c, g.depth);
    const float w0 = weight_of(c, g.first, s);
    const float w1 = g.given > 1 ? weight_of(c, g.first + 1, s) : 0.0f;
    const float w2 = g.given > 2 ? weight_of(c, g.first + 2, s) : 0.0f;
    const float w3 = g.given > 3 ? weight_of(c, g.first + 3, s) : 0.0f;
    EACH_ELEMENT(i, g.count)
    {
        float z = w0 * x0[i];
        z = g.first ? out[i] + z : z;
        z = g.given > 1 ? z + w1 * x1[i] : z;
        z = g.given > 2 ? z + w2 * x2[i] : z;
        z = g.given > 3 ? z + w3 * x3[i] : z;
        out[i] = z;
    }
}

// dx (+)= w dy, partial = sum of dy x over the group, for tensor number g.first
WORK_GROUP(WG, 1, 1)
kernel void mix_backward(global float *dx, global float *restrict partial,
                         global const float *x, global const float *restrict dy,
                         global const float *restrict c, int groups, mix_args g)
{
    local float scratch[WG];
    const float w = weight_of(c, g.first, softmax_of(c, g.depth));
    float sum = 0.0f;
    EACH_ELEMENT(i, g.count)
    {
        sum += dy[i] * x[i];
        if (g.mode != GRAD_SKIP) {
            dx[i] = g.mode == GRAD_ADD ? dx[i] + w * dy[i] : w * dy[i];
        }
    }
    sum = group_sum(sum, scratch, LANE(0), WG);
    if (LANE(0) == 0) {
        partial[(size_t)g.first * groups + GROUP(0)] = sum;
    }
}
