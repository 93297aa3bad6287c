/* length_sigmoid.cl - sigmoids scaled by the length of their sequence.
 *
 * Layout: x, y, dx, dy [N,C]; offsets [B+1].
 * Work-group: WG items along the numbers of one sequence; grid (B). WG is 1 on CPU
 * devices, where the loop becomes vector code.
 * Defines: WG.
 * Numerics: f32; 1/(1 + exp(-x)).
 * Writes: y whole; dx whole (added to when add). */
#include "length_sigmoid_args.h"

#ifndef WG
#define WG 64
#endif

/* Returns the factor of the sigmoids of a sequence. */
INLINE float height(length_args s, int length)
{
    return s.slope * (float)length + s.shift;
}

// y = (slope len + shift) sigmoid(x) + base
WORK_GROUP(WG, 1, 1)
kernel void length_sigmoid_forward(global float *restrict y,
                                   global const float *restrict x,
                                   global const int *restrict offsets, length_args s)
{
    const int first = offsets[GROUP(0)], length = offsets[GROUP(0) + 1] - first;
    const size_t at = (size_t)first * (size_t)s.columns;
    const float most = height(s, length);
    for (int i = LANE(0); i < length * s.columns; i += WG) {
        y[at + i] = most * sigmoid(x[at + i]) + s.base;
    }
}

// dx (+)= dy (slope len + shift) g (1 - g), g = sigmoid(x)
WORK_GROUP(WG, 1, 1)
kernel void length_sigmoid_backward(global float *restrict dx,
                                    global const float *restrict x,
                                    global const float *restrict dy,
                                    global const int *restrict offsets, length_args s,
                                    int add)
{
    const int first = offsets[GROUP(0)], length = offsets[GROUP(0) + 1] - first;
    const size_t at = (size_t)first * (size_t)s.columns;
    const float most = height(s, length);
    for (int i = LANE(0); i < length * s.columns; i += WG) {
        const float g = sigmoid(x[at + i]);
        const float grad = dy[at + i] * most * g * (1.0f - g);
        dx[at + i] = add ? dx[at + i] + grad : grad;
    }
}
