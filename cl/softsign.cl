/* softsign.cl - y = x / (1 + |x|).
 *
 * Layout: flat arrays of n floats.
 * Work-group: as elements.clh.
 * Defines: WG.
 * Numerics: three roundings.
 * Writes: outputs whole; gradients are added to when add. */
#include "elements.clh"

WORK_GROUP(WG, 1, 1)
kernel void softsign_forward(global float *restrict y, global const float *restrict x,
                             int n)
{
    EACH_ELEMENT(i, n)
    {
        y[i] = x[i] / (1.0f + fabs(x[i]));
    }
}

// dx (+)= dy / (1 + |x|)^2
WORK_GROUP(WG, 1, 1)
kernel void softsign_backward(global float *restrict dx,
                              global const float *restrict dy,
                              global const float *restrict x, int n, int add)
{
    EACH_ELEMENT(i, n)
    {
        const float below = 1.0f + fabs(x[i]);
        const float g = dy[i] / (below * below);
        dx[i] = add ? dx[i] + g : g;
    }
}
