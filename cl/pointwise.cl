/* pointwise.cl - an operator that a row of src/ops/pointwise.c defines by an
 * expression: y = f(x_0, x_1, ...), element by element.
 *
 * Generated: FORWARD and BACKWARD, the kernels' names; f(OPERANDS(i)) and
 *   slope_0(OPERANDS(i)), its derivative by x_0, and so on; EACH_SLOPE(each), which is
 *   each(0) each(1) for two operands; INPUTS and GRADIENTS: in0, in1 and to0, to1.
 * Layout: flat arrays of n floats, all of one shape.
 * Work-group: as elements.clh.
 * Defines: WG, a power of two.
 * Numerics: those of the expression. Gradients multiply its slope by dy.
 * Writes: y whole; gradients whole, or adds to those whose bit of adds is set, 1 for
 *   x_0, 2 for x_1. They may be null or the same buffer: each has a loop of its own,
 *   which becomes vector code. */
#include "custom.clh"
#include "elements.clh"
#define POINTWISE
#include "generated.clh"

WORK_GROUP(WG, 1, 1)
kernel void FORWARD(global float *restrict y, int n, float factor INPUTS)
{
    EACH_ELEMENT(i, n)
    {
        y[i] = f(OPERANDS(i));
    }
}

#define GIVE(k)                                         \
    EACH_ELEMENT(i, to##k ? n : 0)                      \
    {                                                   \
        const float g = dy[i] * slope_##k(OPERANDS(i)); \
        to##k[i] = adds >> k & 1 ? to##k[i] + g : g;    \
    }

WORK_GROUP(WG, 1, 1)
kernel void BACKWARD(global const float *restrict dy, int n, float factor,
                     int adds INPUTS GRADIENTS)
{
    EACH_SLOPE(GIVE)
}
