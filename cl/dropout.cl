/* dropout.cl - drops elements at random and lets the others grow; also its gradient.
 *
 * Layout: x and y [N,C]; in the backward pass dy and dx.
 * Work-group: WG items to a run of rows; an item has 4 columns of a row at a time.
 * Defines: WG.
 * Numerics: one rounding an element.
 * Writes: y whole (added to when add). */
#include "dropout.clh"

#ifndef WG
#define WG 64
#endif

// y (+)= x / (1 - p) where the draw is p or more, else 0
WORK_GROUP(WG, 1, 1)
kernel void dropout(global float *restrict y, global const float *restrict x,
                    dropout_shape s, int add)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    const int blocks = (s.columns + BLOCK - 1) / BLOCK;
    const float grow = 1.0f / (1.0f - s.drop);
    for (int row = first; row < last; row++) {
        for (int i = LANE(0); i < blocks * STRIDE; i += WG) {
            const uint4 r =
                philox((uint4)((uint)i, s.first_row + row, DRAW_DROPOUT, s.stream),
                       (uint2)(s.seed, s.step));
            const uint word[4] = { r.x, r.y, r.z, r.w };
            for (int k = 0; k < 4; k++) {
                const int c = i / STRIDE * BLOCK + k * STRIDE + i % STRIDE;
                if (c < s.columns) {
                    const size_t at = (size_t)row * s.columns + c;
                    const float z = uniform(word[k]) >= s.drop ? x[at] * grow : 0.0f;
                    y[at] = add ? y[at] + z : z;
                }
            }
        }
    }
}
