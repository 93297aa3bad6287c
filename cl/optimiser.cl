/* optimiser.cl - one step of an optimiser over a whole block of parameters.
 *
 * Layout: parameters p, moments, gradient g, all flat.
 * Work-group: as elements.clh.
 * Defines: WG.
 * Numerics: f32; the host computes 1 - decay and the bias corrections.
 * Writes: p and the moments in place. */
#include "elements.clh"
#include "optimiser_args.h"

// a = rho a + (1 - rho) g^2, p -= lr g / (sqrt(a) + eps)
WORK_GROUP(WG, 1, 1)
kernel void rmsprop(global float *restrict p, global float *restrict a,
                    global const float *restrict g, int n, optimiser_rates r)
{
    EACH_ELEMENT(i, n)
    {
        const float square = r.decay1 * a[i] + r.rest1 * (g[i] * g[i]);
        a[i] = square;
        p[i] -= r.lr * g[i] / (sqrt(square) + r.epsilon);
    }
}

/* Updates the means m of g and v of g^2 of element i. Returns lr m' / (sqrt(v') + eps),
 * m' and v' the corrected means. */
INLINE float adam_change(global float *m, global float *v, global const float *g,
                         size_t i, optimiser_rates r)
{
    const float mean = r.decay1 * m[i] + r.rest1 * g[i];
    const float square = r.decay2 * v[i] + r.rest2 * (g[i] * g[i]);
    m[i] = mean;
    v[i] = square;
    return r.lr * (mean * r.correct1) / (sqrt(square * r.correct2) + r.epsilon);
}

// p -= lr m' / (sqrt(v') + eps)
WORK_GROUP(WG, 1, 1)
kernel void adam(global float *restrict p, global float *restrict m,
                 global float *restrict v, global const float *restrict g, int n,
                 optimiser_rates r)
{
    EACH_ELEMENT(i, n)
    {
        p[i] -= adam_change(m, v, g, i, r);
    }
}

/* a = rho a + (1 - rho) g^2, u = g sqrt(d + eps) / sqrt(a + eps),
 * d = rho d + (1 - rho) u^2, p -= lr u */
WORK_GROUP(WG, 1, 1)
kernel void adadelta(global float *restrict p, global float *restrict a,
                     global float *restrict d, global const float *restrict g, int n,
                     optimiser_rates r)
{
    EACH_ELEMENT(i, n)
    {
        const float square = r.decay1 * a[i] + r.rest1 * (g[i] * g[i]);
        const float u = g[i] * sqrt(d[i] + r.epsilon) / sqrt(square + r.epsilon);
        a[i] = square;
        d[i] = r.decay1 * d[i] + r.rest1 * (u * u);
        p[i] -= r.lr * u;
    }
}

// p -= lr (m' / (sqrt(v') + eps) + weight_decay p)
WORK_GROUP(WG, 1, 1)
kernel void adamw(global float *restrict p, global float *restrict m,
                  global float *restrict v, global const float *restrict g, int n,
                  optimiser_rates r)
{
    EACH_ELEMENT(i, n)
    {
        p[i] -= adam_change(m, v, g, i, r) + r.shrink * p[i];
    }
}

/* u = beta1 m + (1 - beta1) g, m = beta2 m + (1 - beta2) g,
 * p -= lr (sign(u) + weight_decay p). The sign of a NaN is the NaN. */
WORK_GROUP(WG, 1, 1)
kernel void lion(global float *restrict p, global float *restrict m,
                 global const float *restrict g, int n, optimiser_rates r)
{
    EACH_ELEMENT(i, n)
    {
        const float u = r.decay1 * m[i] + r.rest1 * g[i];
        m[i] = r.decay2 * m[i] + r.rest2 * g[i];
        p[i] -= r.lr * (u > 0 ? 1.0f : (u < 0 ? -1.0f : u)) + r.shrink * p[i];
    }
}
