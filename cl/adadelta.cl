/* adadelta.cl - one step of AdaDelta over a whole block of parameters.
 *
 * Layout: p, a, d, g flat.
 * Work-group: as elements.clh.
 * Defines: WG.
 * Numerics: f32.
 * Writes: p, a, d in place. */
#include "elements.clh"

typedef struct adadelta_rates {
    float lr, rho, rest, eps; // rest is 1 - rho
} adadelta_rates;

/* a = rho a + (1 - rho) g^2, u = g sqrt(d + eps) / sqrt(a + eps),
 * d = rho d + (1 - rho) u^2, p -= lr u */
WORK_GROUP(WG, 1, 1)
kernel void adadelta(global float *restrict p, global float *restrict a,
                     global float *restrict d, global const float *restrict g, int n,
                     adadelta_rates r)
{
    EACH_ELEMENT(i, n)
    {
        const float square = r.rho * a[i] + r.rest * (g[i] * g[i]);
        const float u = g[i] * sqrt(d[i] + r.eps) / sqrt(square + r.eps);
        a[i] = square;
        d[i] = r.rho * d[i] + r.rest * (u * u);
        p[i] -= r.lr * u;
    }
}
