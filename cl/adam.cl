/* adam.cl - one step of Adam over a whole block of parameters.
 *
 * Layout: p, m, v, g flat.
 * Work-group: as elements.clh.
 * Defines: WG.
 * Numerics: f32; the bias corrections come from the host.
 * Writes: p, m, v in place. */
#include "elements.clh"

typedef struct adam_rates {
    float lr, beta1, beta2, eps;
    float rest1, rest2;       // 1 - beta
    float correct1, correct2; // 1 / (1 - beta^step)
} adam_rates;

// p -= lr m' / (sqrt(v') + eps), m' and v' the corrected means of g and g^2
WORK_GROUP(WG, 1, 1)
kernel void adam(global float *restrict p, global float *restrict m,
                 global float *restrict v, global const float *restrict g, int n,
                 adam_rates r)
{
    EACH_ELEMENT(i, n)
    {
        const float mean = r.beta1 * m[i] + r.rest1 * g[i];
        const float square = r.beta2 * v[i] + r.rest2 * (g[i] * g[i]);
        m[i] = mean;
        v[i] = square;
        p[i] -= r.lr * (mean * r.correct1) / (sqrt(square * r.correct2) + r.eps);
    }
}
