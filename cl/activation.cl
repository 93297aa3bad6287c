/* activation.cl - GELU, SiLU and the sigmoid, with slopes from their inputs.
 *
 * Layout: flat arrays of n floats.
 * Work-group: as elements.clh.
 * Defines: WG, a power of two.
 * Numerics: the error of erf or exp, and a few roundings. A large negative x gives -0,
 *   a large positive x gives x; NaN stays NaN.
 * Writes: y whole; dx whole, or adds to it if add. */
#include "elements.clh"

#define SQRT_HALF 0.70710678118654752f
#define DENSITY   0.39894228040143268f // 1 / sqrt(2 pi)

/* Returns erf(x) within 1.3e-7 (one unit in the last place of 1). Both polynomials are
 * evaluated, so that the loop over elements becomes vector code; with PoCL's erf it
 * does not. They are minimax fits of erf(x) / x in x^2 below 1, and of
 * -log(1 - erf(x)) from there to 4.1, where erf rounds to 1. */
INLINE float error_function(float x)
{
    const float s = x * x, t = fmin(fabs(x), 4.1f);
    float near = 7.889119e-5f;
    near = near * s - 8.0208411e-4f;
    near = near * s + 5.1895352e-3f;
    near = near * s - 2.6854444e-2f;
    near = near * s + 1.1283600e-1f;
    near = near * s - 3.7612626e-1f;
    near = near * s + 1.1283791f;
    float far = -1.6303372e-4f;
    far = far * t + 2.7256459e-3f;
    far = far * t - 2.0976970e-2f;
    far = far * t + 1.0136189e-1f;
    far = far * t + 6.4009470e-1f;
    far = far * t + 1.1259488f;
    far = far * t + 6.1452200e-4f;
    const float one = 1.0f - exp(-far); // erf(|x|), nearly 1
    return fabs(x) < 1.0f ? near * x : x < 0.0f ? -one : one;
}

/* Returns P(Z <= x) for a standard normal Z. */
INLINE float below(float x)
{
    return 0.5f + 0.5f * error_function(x * SQRT_HALF);
}

// y = x P(Z <= x)
WORK_GROUP(WG, 1, 1)
kernel void gelu_forward(global float *restrict y, global const float *restrict x,
                         int n)
{
    EACH_ELEMENT(i, n)
    {
        y[i] = x[i] * below(x[i]);
    }
}

// dx (+)= dy (P(Z <= x) + x p(x)), p the density of Z
WORK_GROUP(WG, 1, 1)
kernel void gelu_backward(global float *restrict dx, global const float *restrict dy,
                          global const float *restrict x, int n, int add)
{
    EACH_ELEMENT(i, n)
    {
        const float density = DENSITY * exp(-0.5f * x[i] * x[i]);
        const float g = dy[i] * (below(x[i]) + x[i] * density);
        dx[i] = add ? dx[i] + g : g;
    }
}

// y = s, s = sigmoid(x)
WORK_GROUP(WG, 1, 1)
kernel void sigmoid_forward(global float *restrict y, global const float *restrict x,
                            int n)
{
    EACH_ELEMENT(i, n)
    {
        y[i] = sigmoid(x[i]);
    }
}

// dx (+)= dy s (1 - s)
WORK_GROUP(WG, 1, 1)
kernel void sigmoid_backward(global float *restrict dx, global const float *restrict dy,
                             global const float *restrict x, int n, int add)
{
    EACH_ELEMENT(i, n)
    {
        const float s = sigmoid(x[i]), g = dy[i] * s * (1.0f - s);
        dx[i] = add ? dx[i] + g : g;
    }
}

// y = x s, s = sigmoid(x)
WORK_GROUP(WG, 1, 1)
kernel void silu_forward(global float *restrict y, global const float *restrict x,
                         int n)
{
    EACH_ELEMENT(i, n)
    {
        y[i] = x[i] * sigmoid(x[i]);
    }
}

// dx (+)= dy s (1 + x (1 - s))
WORK_GROUP(WG, 1, 1)
kernel void silu_backward(global float *restrict dx, global const float *restrict dy,
                          global const float *restrict x, int n, int add)
{
    EACH_ELEMENT(i, n)
    {
        const float s = sigmoid(x[i]);
        const float g = dy[i] * s * (1.0f + x[i] * (1.0f - s));
        dx[i] = add ? dx[i] + g : g;
    }
}
