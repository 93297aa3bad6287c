/* rmsprop.cl - one step of RMSprop over a whole block of parameters.
 *
 * Layout: p, a, g flat.
 * Work-group: as elements.clh.
 * Defines: WG.
 * Numerics: f32.
 * Writes: p, a in place. */
#include "elements.clh"

typedef struct rmsprop_rates {
    float lr, rho, rest, eps; // rest is 1 - rho
} rmsprop_rates;

// a = rho a + (1 - rho) g^2, p -= lr g / (sqrt(a) + eps)
WORK_GROUP(WG, 1, 1)
kernel void rmsprop(global float *restrict p, global float *restrict a,
                    global const float *restrict g, int n, rmsprop_rates r)
{
    EACH_ELEMENT(i, n)
    {
        const float square = r.rho * a[i] + r.rest * (g[i] * g[i]);
        a[i] = square;
        p[i] -= r.lr * g[i] / (sqrt(square) + r.eps);
    }
}
