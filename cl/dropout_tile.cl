/* dropout_tile.cl - dropout.cl for CPU devices; each work-item has a run of rows.
 *
 * Layout: a, x and y [N,C]; in the backward pass dy, da and dx.
 * Work-group: 1 item.
 * Defines: VEC, the native width.
 * Numerics: as dropout.cl, bit for bit.
 * Writes: y whole (added to when add). */
#include "dropout.clh"
#include "vector.clh"

/* Returns which of VEC columns are kept, from their draws. */
INLINE intv is_kept(uintv word, float p)
{
    return convert_floatv(word >> 8) * 0x1p-24f >= p;
}

/* Returns x grow where it is kept, and else 0, whatever x holds. */
INLINE floatv left_of(floatv x, intv kept, float grow)
{
    return kept ? x * grow : (floatv)(0.0f);
}

INLINE float left_of_one(float x, float kept, float grow)
{
    return kept != 0.0f ? x * grow : 0.0f;
}

/* Computes y = a + dropout(x), or dropout(a + x) with whole: VEC columns, or count if
 * fewer are left. */
INLINE void drop_sum(global float *y, global const float *a, global const float *x,
                     intv kept, float grow, int count, int whole)
{
    if (count >= VEC) {
        const floatv l = loadv(0, a), r = loadv(0, x);
        storev(whole ? left_of(l + r, kept, grow) : l + left_of(r, kept, grow), 0, y);
        return;
    }
    float each[VEC];
    storev(left_of((floatv)(1.0f), kept, 1.0f), 0, each);
    for (int c = 0; c < count; c++) {
        y[c] = whole ? left_of_one(a[c] + x[c], each[c], grow)
                     : a[c] + left_of_one(x[c], each[c], grow);
    }
}

/* to (+)= dropout(dy): VEC columns, or count if fewer are left */
INLINE void drop_back(global float *to, global const float *dy, intv kept, float grow,
                      int count, int add)
{
    if (count >= VEC) {
        const floatv z = left_of(loadv(0, dy), kept, grow);
        storev(add ? loadv(0, to) + z : z, 0, to);
        return;
    }
    float each[VEC];
    storev(left_of((floatv)(1.0f), kept, 1.0f), 0, each);
    for (int c = 0; c < count; c++) {
        const float z = left_of_one(dy[c], each[c], grow);
        to[c] = add ? to[c] + z : z;
    }
}

/* Draws word[0..3] for columns 64 block + i .. of a row: VEC columns each, 16 apart. */
INLINE void draw_words(uintv *word, int block, int i, int row, dropout_shape s)
{
    philox_lanes(word, LANES + (uint)(block * STRIDE + i), (uintv)(s.first_row + row),
                 (uintv)(DRAW_DROPOUT), (uintv)(s.stream), (uint2)(s.seed, s.step));
}

/* y (+)= x keep for columns 64 block .. 64 block + 63 of a row */
INLINE void drop_block(global float *y, global const float *x, int block, int row,
                       const dropout_shape s, int add)
{
    for (int i = 0; i < STRIDE; i += VEC) {
        uintv word[4];
        draw_words(word, block, i, row, s);
        for (int k = 0; k < 4; k++) {
            const int c = block * BLOCK + k * STRIDE + i;
            if (c < s.columns) {
                drop_back(y + c, x + c, is_kept(word[k], s.drop),
                          1.0f / (1.0f - s.drop), s.columns - c, add);
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

// y = a + dropout(x), or dropout(a + x) with whole
WORK_GROUP(1, 1, 1)
kernel void dropout_add(global float *restrict y, global const float *a,
                        global const float *x, dropout_shape s, int whole)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    const float grow = 1.0f / (1.0f - s.drop);
    for (int row = first; row < last; row++) {
        for (int j = 0; j < (s.columns + BLOCK - 1) / BLOCK * STRIDE; j += VEC) {
            const int block = j / STRIDE, i = j % STRIDE;
            uintv word[4];
            draw_words(word, block, i, row, s);
            for (int k = 0; k < 4; k++) {
                const int c = block * BLOCK + k * STRIDE + i;
                const size_t at = (size_t)row * s.columns + c;
                if (c < s.columns) {
                    drop_sum(y + at, a + at, x + at, is_kept(word[k], s.drop), grow,
                             s.columns - c, whole);
                }
            }
        }
    }
}

/* dx (+)= dy keep; da (+)= dy, or dy keep with whole. Both may be null, or the same
 * buffer. Bits of adds: 1 adds to da, 2 to dx. */
WORK_GROUP(1, 1, 1)
kernel void dropout_add_backward(global float *da, global float *dx,
                                 global const float *restrict dy, dropout_shape s,
                                 int whole, int adds)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    const float grow = 1.0f / (1.0f - s.drop);
    for (int row = first; row < last; row++) {
        for (int j = 0; j < (s.columns + BLOCK - 1) / BLOCK * STRIDE; j += VEC) {
            const int block = j / STRIDE, i = j % STRIDE;
            uintv word[4];
            draw_words(word, block, i, row, s);
            for (int k = 0; k < 4; k++) {
                const int c = block * BLOCK + k * STRIDE + i;
                const size_t at = (size_t)row * s.columns + c;
                const intv kept = is_kept(word[k], s.drop);
                if (c < s.columns && da) {
                    drop_back(da + at, dy + at, whole ? kept : (intv)(-1),
                              whole ? grow : 1.0f, s.columns - c, adds & 1);
                }
                if (c < s.columns && dx) {
                    drop_back(dx + at, dy + at, kept, grow, s.columns - c, adds & 2);
                }
            }
        }
    }
}
