/* dropout.cl - dropout, alone, of a summand or of a sum: dropped elements become 0, the
 * others are scaled by 1 / (1 - p); also the gradients.
 *
 * Layout: a, x and y [N,C]; in the backward pass dy, da and dx.
 * Work-group: WG items to a run of rows; an item has 4 columns of a row at a time.
 * Defines: WG.
 * Numerics: one rounding an element.
 * Writes: y whole (added to when add). */
#include "dropout.clh"

#ifndef WG
#define WG 64
#endif

/* Computes the item's four columns and their factors: 0, or 1 / (1 - p) where kept. */
INLINE void draw_four(int *columns, float *keep, int i, int row, dropout_shape s)
{
    const uint4 r = philox((uint4)((uint)i, s.first_row + row, DRAW_DROPOUT, s.stream),
                           (uint2)(s.seed, s.step));
    const uint word[4] = { r.x, r.y, r.z, r.w };
    const float grow = 1.0f / (1.0f - s.drop);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        columns[k] = i / STRIDE * BLOCK + k * STRIDE + i % STRIDE;
        keep[k] = uniform(word[k]) >= s.drop ? grow : 0.0f;
    }
}

/* Loops over this item's groups of four columns of a row. */
#define EACH_FOUR(i, s) \
    for (int i = LANE(0); i < ((s).columns + BLOCK - 1) / BLOCK * STRIDE; i += WG)

// y = a + dropout(x), or dropout(a + x) with whole
WORK_GROUP(WG, 1, 1)
kernel void dropout_add(global float *restrict y, global const float *a,
                        global const float *x, dropout_shape s, int whole)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        EACH_FOUR(i, s)
        {
            int c[4];
            float keep[4];
            draw_four(c, keep, i, row, s);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (c[k] < s.columns) {
                    const size_t at = (size_t)row * s.columns + c[k];
                    y[at] = whole ? weighed(keep[k], a[at] + x[at])
                                  : a[at] + weighed(keep[k], x[at]);
                }
            }
        }
    }
}

/* dx (+)= dy keep; da (+)= dy, or dy keep with whole. Both may be null, or the same
 * buffer. Bits of adds: 1 adds to da, 2 to dx. */
WORK_GROUP(WG, 1, 1)
kernel void dropout_add_backward(global float *da, global float *dx,
                                 global const float *restrict dy, dropout_shape s,
                                 int whole, int adds)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        EACH_FOUR(i, s)
        {
            int c[4];
            float keep[4];
            draw_four(c, keep, i, row, s);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (c[k] < s.columns) {
                    const size_t at = (size_t)row * s.columns + c[k];
                    const float kept = weighed(keep[k], dy[at]),
                                g = whole ? kept : dy[at];
                    if (da) {
                        da[at] = adds & 1 ? da[at] + g : g;
                    }
                    if (dx) {
                        dx[at] = adds & 2 ? dx[at] + kept : kept;
                    }
                }
            }
        }
    }
}

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
