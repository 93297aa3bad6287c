/* dropout_tile.cl - the same with a run of rows to each work-item, for CPU devices.
 *
 * Layout: x and y [N,C]; in the backward pass dy and dx.
 * Work-group: 1 item.
 * Defines: VEC, the native width.
 * Numerics: as dropout.cl, bit for bit.
 * Writes: y whole (added to when add). */
#include "dropout.clh"
#include "vector.clh"

/* count columns, VEC or up to the end of the row, from their words. */
INLINE void drop(global float *y, global const float *x, uintv word, int count, float p,
                 int add)
{
    const float grow = 1.0f / (1.0f - p);
    const floatv u = convert_floatv(word >> 8) * 0x1p-24f;
    const floatv keep = select((floatv)(0.0f), (floatv)(grow), u >= p);
    if (count >= VEC) {
        const floatv z = loadv(0, x) * keep;
        storev(add ? loadv(0, y) + z : z, 0, y);
        return;
    }
    float each[VEC];
    storev(keep, 0, each);
    for (int c = 0; c < count; c++) {
        y[c] = add ? y[c] + x[c] * each[c] : x[c] * each[c];
    }
}

/* Columns 64 block .. of one row. */
INLINE void drop_block(global float *y, global const float *x, int block, int row,
                       const dropout_shape s, int add)
{
    for (int i = 0; i < STRIDE; i += VEC) {
        uintv word[4];
        philox_lanes(word, LANES + (uint)(block * STRIDE + i),
                     (uintv)(s.first_row + row), (uintv)(DRAW_DROPOUT),
                     (uintv)(s.stream), (uint2)(s.seed, s.step));
        for (int k = 0; k < 4; k++) {
            const int c = block * BLOCK + k * STRIDE + i;
            if (c < s.columns) {
                drop(y + c, x + c, word[k], s.columns - c, s.drop, add);
            }
        }
    }
}

// y (+)= x / (1 - p) where the draw is p or more, else 0
WORK_GROUP(1, 1, 1)
kernel void dropout(global float *restrict y, global const float *restrict x,
                    dropout_shape s, int add)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        const size_t at = (size_t)row * s.columns;
        for (int block = 0; block * BLOCK < s.columns; block++) {
            drop_block(y + at, x + at, block, row, s, add);
        }
    }
}
