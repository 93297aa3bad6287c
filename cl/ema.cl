/* ema.cl - the exponential moving average of a block of parameters.
 *
 * Layout: e, p flat.
 * Work-group: as elements.clh.
 * Defines: WG.
 * Numerics: f32.
 * Writes: e in place; swap: e and p. */
#include "elements.clh"

// e = e + rest (p - e); rest is 1 - decay, and with rest = 1 e becomes p exactly
WORK_GROUP(WG, 1, 1)
kernel void ema(global float *restrict e, global const float *restrict p, int n,
                float rest)
{
    EACH_ELEMENT(i, n)
    {
        e[i] = rest == 1.0f ? p[i] : e[i] + rest * (p[i] - e[i]);
    }
}

// exchanges e and p
WORK_GROUP(WG, 1, 1)
kernel void swap(global float *restrict e, global float *restrict p, int n)
{
    EACH_ELEMENT(i, n)
    {
        const float x = e[i];
        e[i] = p[i];
        p[i] = x;
    }
}
