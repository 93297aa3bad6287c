/* dropout.cl - dropout, alone, of a summand or of a sum: dropped elements become 0, the
 * others are scaled by 1 / (1 - p); also the gradients.
 *
 * Layout: a, x and y [N,C]; in the backward pass dy, da and dx.
 * Work-group: WG items to a run of rows; an item has 4 columns of a row at a time, on
 * CPU devices 4 VEC.
 * Defines: WG and VEC, as row.clh.
 * Numerics: one rounding an element.
 * Writes: y whole (added to when add). */
#include "dropout_args.h"
#include "row.clh"

/* Four draws serve the columns c, c+16, c+32 and c+48 of a block of 64, so that 4, 8 or
 * 16 neighbours can be drawn at once without any shuffle. */
#define BLOCK  64
#define STRIDE 16

/* The third word of the Philox counter; draws for attention have a head there. */
#define DRAW_DROPOUT 0x64726f70u

/* draw(word, i, row, s) draws the i-th four words of a row, FOURS of them at once, and
 * WHERE_LEFT does a statement for the columns of one of the four, of which `left` are
 * in the row; `kept` is not 0 where an element is kept. */
#if WG > 1
#define FOURS 1
typedef uint words;
INLINE void draw(words word[4], int i, int row, dropout_shape s)
{
    const uint4 r = philox((uint4)((uint)i, s.first_row + row, DRAW_DROPOUT, s.stream),
                           (uint2)(s.seed, s.step));
    word[0] = r.x;
    word[1] = r.y;
    word[2] = r.z;
    word[3] = r.w;
}
#define WHERE_LEFT(at, kept, start, left, word, p, statement) \
    if ((left) > 0) {                                         \
        const size_t at = start;                              \
        const int kept = uniform(word) >= p;                  \
        statement;                                            \
    }
#else
#define FOURS VEC
typedef uintv words;
INLINE void draw(words word[4], int i, int row, dropout_shape s)
{
    philox_lanes(word, LANES + (uint)i, (uintv)(s.first_row + row),
                 (uintv)(DRAW_DROPOUT), (uintv)(s.stream), (uint2)(s.seed, s.step));
}
INLINE intv is_kept(uintv word, float p)
{
    return convert_floatv(word >> 8) * 0x1p-24f >= p;
}
#ifdef __clang__ // as in row.clh
#define IF_WHOLE(at, kept, start, left, word, p, statement) \
    if ((left) >= VEC) {                                    \
        typedef floatv_loose real;                          \
        const size_t at = start;                            \
        const intv kept = is_kept(word, p);                 \
        statement;                                          \
    } else
#else
#define IF_WHOLE(at, kept, start, left, word, p, statement)
#endif
#define WHERE_LEFT(at, kept, start, left, word, p, statement) \
    IF_WHOLE(at, kept, start, left, word, p, statement)       \
    if ((left) > 0) {                                         \
        typedef float real;                                   \
        float each[VEC];                                      \
        storev(as_floatv(is_kept(word, p)), 0, each);         \
        for (int j = 0; j < min(left, VEC); j++) {            \
            const size_t at = start + j;                      \
            const int kept = as_int(each[j]);                 \
            statement;                                        \
        }                                                     \
    }
#endif

/* Does a statement for each element of a run of rows, of index `at`. */
#define EACH_DRAWN(at, kept, s, statement)                                             \
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);             \
    const float grow = 1.0f / (1.0f - s.drop);                                         \
    for (int row = first; row < last; row++) {                                         \
        for (int i = LANE(0) * FOURS; i < (s.columns + BLOCK - 1) / BLOCK * STRIDE;    \
             i += WG * FOURS) {                                                        \
            words word[4];                                                             \
            draw(word, i, row, s);                                                     \
            _Pragma("unroll") for (int k = 0; k < 4; k++)                              \
            {                                                                          \
                const int c = i / STRIDE * BLOCK + k * STRIDE + i % STRIDE;            \
                const size_t start = (size_t)row * s.columns + c;                      \
                WHERE_LEFT(at, kept, start, s.columns - c, word[k], s.drop, statement) \
            }                                                                          \
        }                                                                              \
    }

/* Returns what is left of x: 0 where it is dropped, whatever it holds. */
#define LEFT_OF(x, kept, s) ((kept) ? (x)*grow : (real)(0.0f))

// y = a + dropout(x), or dropout(a + x) with whole
WORK_GROUP(WG, 1, 1)
kernel void dropout_add(global float *restrict y, global const float *a,
                        global const float *x, dropout_shape s, int whole)
{
    EACH_DRAWN(at, kept, s, {
        AT(y, at) = whole ? LEFT_OF(AT(a, at) + AT(x, at), kept, s)
                          : AT(a, at) + LEFT_OF(AT(x, at), kept, s);
    });
}

/* dx (+)= dy keep; da (+)= dy, or dy keep with whole. Both may be null, or the same
 * buffer. Bits of adds: 1 adds to da, 2 to dx. */
WORK_GROUP(WG, 1, 1)
kernel void dropout_add_backward(global float *da, global float *dx,
                                 global const float *restrict dy, dropout_shape s,
                                 int whole, int adds)
{
    EACH_DRAWN(at, kept, s, {
        const real z = LEFT_OF(AT(dy, at), kept, s);
        const real g = whole ? z : AT(dy, at);
        if (da) {
            AT(da, at) = adds & 1 ? AT(da, at) + g : g;
        }
        if (dx) {
            AT(dx, at) = adds & 2 ? AT(dx, at) + z : z;
        }
    });
}

// y (+)= x / (1 - p) where the draw is p or more, else 0
WORK_GROUP(WG, 1, 1)
kernel void dropout(global float *restrict y, global const float *restrict x,
                    dropout_shape s, int add)
{
    EACH_DRAWN(at, kept, s, {
        const real z = LEFT_OF(AT(x, at), kept, s);
        AT(y, at) = add ? AT(y, at) + z : z;
    });
}
