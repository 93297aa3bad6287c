/* matmul_unit.cl - matrix products of numbers that are rounded to bf16, on CPU devices.
 * Each work-item has a block of the result.
 *
 * Layout: as matmul_tile.cl. The panels of b that matmul_unit_pack makes have 32
 * columns and all inner indices, 32 at a time: two fragments side by side (unit.clh).
 * Work-group: 1 item; it packs its rows of a into fragments, and multiplies them while
 * they are in the first caches.
 * Defines: UNIT, CONVERTS and PARTS of unit.clh; VEC, the native width.
 * Numerics: each number of a and b is the sum of PARTS bf16 numbers; sums are f32, in
 * the order that unit.clh names: the same bits for any cut of rows, columns and inner
 * index, and for every UNIT.
 * Writes: y whole (added to when add). */
#include "matmul.clh"
#include "matmul_tile_args.h"
#include "vector.clh"
// these need the headers above
#include "bf16.clh"
#include "matmul_block.clh"
#include "unit.clh"

#define PANEL (2 * SIDE) // columns of a panel

/* Makes PARTS times 16 rows of pairs of the inner index. along: the numbers of one
 * outer index are contiguous, else those of one inner index. `outer` and `inner` are
 * left from p on. */
INLINE void load_fragments(uint16 *to, global const float *p, int ld, bool along,
                           int outer, int inner)
{
    for (int i = 0; i < SIDE; i++) {
        float16 x[2];
        if (along) {
            const int n = i < outer ? inner : 0;
            load_part(&x[0], p + (size_t)i * ld, n);
            load_part(&x[1], p + (size_t)i * ld + SIDE, n - SIDE);
        } else {
            const int n = inner - 2 * i;
            load_part(&x[0], p + (size_t)(2 * i) * ld, n > 0 ? outer : 0);
            load_part(&x[1], p + (size_t)(2 * i + 1) * ld, n > 1 ? outer : 0);
        }
        split_pairs(to + i, SIDE, x, along);
    }
}

/* Writes the fragments of an operand; turned: with rows and columns exchanged. */
#define STORE_FRAGMENTS(name, space)                                 \
    INLINE void name(space uint *to, uint16 *x, bool turned)         \
    {                                                                \
        for (int n = 0; n < PARTS; n++, x += SIDE, to += FRAGMENT) { \
            if (turned) {                                            \
                transpose_pairs(x);                                  \
            }                                                        \
            for (int i = 0; i < SIDE; i++) {                         \
                ((space uint16 *)to)[i] = x[i];                      \
            }                                                        \
        }                                                            \
    }
STORE_FRAGMENTS(store_left, local)
STORE_FRAGMENTS(store_right, global)

/* Packs `rows` rows of a, depth inner indices each: fragments of 16 rows, one after the
 * other along the inner index. */
INLINE void pack_left(local uint *to, global const float *a, const matmul_shape s,
                      int rows, int depth)
{
    for (int i = 0; i < rows; i += SIDE) {
        for (int k = 0; k < depth; k += DEPTH, to += PARTS * FRAGMENT) {
            uint16 x[PARTS * SIDE];
            const size_t at =
                s.transpose_a ? (size_t)k * s.a_ld + i : (size_t)i * s.a_ld + k;
            load_fragments(x, a + at, s.a_ld, !s.transpose_a, rows - i, depth - k);
            store_left(to, x, s.transpose_a);
        }
    }
}

/* Copies a block of sums that is not whole between y and x [16,16]. */
INLINE void take_edge(float *x, global const float *y, int ld, int rows, int columns)
{
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            x[i * SIDE + j] = i < rows && j < columns ? y[(size_t)i * ld + j] : 0.0f;
        }
    }
}
INLINE void put_edge(global float *y, const float *x, int ld, int rows, int columns)
{
    for (int i = 0; i < min(rows, SIDE); i++) {
        for (int j = 0; j < min(columns, SIDE); j++) {
            y[(size_t)i * ld + j] = x[i * SIDE + j];
        }
    }
}

/* Begin and end the sums C at y, where rows and columns are left; high: the rows of a
 * fragment. */
#define BEGIN_SUMS(C, y, high, rows, columns)           \
    if (!add) {                                         \
        unit_clear(u, C);                               \
    } else if ((rows) >= (high) && (columns) >= SIDE) { \
        unit_read(u, C, y, s.y_ld);                     \
    } else {                                            \
        take_edge(edge, y, s.y_ld, rows, columns);      \
        unit_take(u, C, edge);                          \
    }
#define END_SUMS(C, y, high, rows, columns)       \
    if ((rows) >= (high) && (columns) >= SIDE) {  \
        unit_write(u, C, y, s.y_ld);              \
    } else if ((rows) > 0 && (columns) > 0) {     \
        unit_give(u, C, edge);                    \
        put_edge(y, edge, s.y_ld, rows, columns); \
    }

/* Add the products of part m of a and part n of b: to the sums of 16 rows and a panel,
 * of the 16 rows under them, and of the next panel. */
#define MULTIPLY(m, n)                                   \
    unit_left(u, A0, left + (m)*FRAGMENT);               \
    unit_right(u, B0, right + (n)*FRAGMENT);             \
    unit_multiply(u, C00, A0, B0);                       \
    unit_right(u, B1, right + (PARTS + (n)) * FRAGMENT); \
    unit_multiply(u, C01, A0, B1);
#define MULTIPLY_DOWN(m, n)                 \
    MULTIPLY(m, n)                          \
    unit_left(u, A1, under + (m)*FRAGMENT); \
    unit_multiply(u, C10, A1, B0);          \
    unit_multiply(u, C11, A1, B1);
#define MULTIPLY_ACROSS(m, n)                                    \
    MULTIPLY(m, n)                                               \
    unit_right(u, B0, right + panel + (n)*FRAGMENT);             \
    unit_multiply(u, C10, A0, B0);                               \
    unit_right(u, B1, right + panel + (PARTS + (n)) * FRAGMENT); \
    unit_multiply(u, C11, A0, B1);

/* All products of parts that count in f32, the smallest first. */
#if PARTS == 3
#define EACH_PART(DO) DO(2, 0) DO(0, 2) DO(1, 1) DO(1, 0) DO(0, 1) DO(0, 0)
#else
#define EACH_PART(DO) DO(0, 0)
#endif

#define EACH_STEP(DO)                                            \
    for (int k = 0; k < steps; k++) {                            \
        EACH_PART(DO)                                            \
        left += PARTS * FRAGMENT, right += 2 * PARTS * FRAGMENT; \
    }

#define FETCH(p) __builtin_prefetch((const void *)(size_t)(p), 1, 3)

/* Prefetches the lines of 2 x 2 sums that are written after the last step, some at each
 * step. OpenCL's prefetch does nothing in PoCL, and other compilers lack the built-in
 * one. */
INLINE void fetch_sums(global float *to, global float *below, int ld, int k, int steps)
{
#if CONVERTS
    for (int i = k; i < SIDE; i += steps) {
        const size_t row = (size_t)i * ld;
        FETCH(to + row);
        FETCH(to + row + SIDE);
        FETCH(below + row);
        FETCH(below + row + SIDE);
    }
#else
    (void)to, (void)below, (void)ld, (void)k, (void)steps;
#endif
}

/* y (+)= the product of `rows` packed rows, more than 16, and the panels from b on. */
INLINE void multiply_rows(global float *y, local const uint *a, global const uint *b,
                          const matmul_shape s, int rows, int columns, int depth,
                          size_t panel, bool add)
{
    const int steps = (depth + DEPTH - 1) / DEPTH;
    const size_t block = (size_t)steps * PARTS * FRAGMENT; // of 16 rows of a
    float edge[SIDE * SIDE] __attribute__((aligned(64)));
    unit u;
    unit_begin(u, SIDE);
    for (int j = 0; j < columns; j += PANEL, b += panel) {
        const int wide = columns - j;
        local const uint *left = a;
        for (int i = 0; i < rows; i += 2 * SIDE, left += block) {
            const int high = rows - i, more = high - SIDE;
            global float *to = y + (size_t)i * s.y_ld + j;
            global float *below = to + (size_t)SIDE * s.y_ld;
            global const uint *right = b;
            BEGIN_SUMS(C00, to, SIDE, high, wide)
            BEGIN_SUMS(C01, to + SIDE, SIDE, high, wide - SIDE)
            if (more > 0) {
                local const uint *under = left + block;
                BEGIN_SUMS(C10, below, SIDE, more, wide)
                BEGIN_SUMS(C11, below + SIDE, SIDE, more, wide - SIDE)
                for (int k = 0; k < steps; k++) {
                    fetch_sums(to, below, s.y_ld, k, steps);
                    EACH_PART(MULTIPLY_DOWN)
                    left += PARTS * FRAGMENT, under += PARTS * FRAGMENT;
                    right += 2 * PARTS * FRAGMENT;
                }
                END_SUMS(C10, below, SIDE, more, wide)
                END_SUMS(C11, below + SIDE, SIDE, more, wide - SIDE)
            } else {
                EACH_STEP(MULTIPLY)
            }
            END_SUMS(C00, to, SIDE, high, wide)
            END_SUMS(C01, to + SIDE, SIDE, high, wide - SIDE)
        }
    }
    unit_end(u);
}

/* The same for at most 16 rows: fragments have so many, and two panels at a time keep
 * the unit busy. */
INLINE void multiply_few(global float *y, local const uint *a, global const uint *b,
                         const matmul_shape s, int rows, int columns, int depth,
                         size_t panel, bool add)
{
    const int steps = (depth + DEPTH - 1) / DEPTH;
    float edge[SIDE * SIDE] __attribute__((aligned(64)));
    unit u;
    unit_begin(u, rows);
    for (int j = 0; j < columns; j += 2 * PANEL, b += 2 * panel) {
        const int wide = columns - j, more = wide - PANEL;
        global float *to = y + j;
        local const uint *left = a;
        global const uint *right = b;
        BEGIN_SUMS(C00, to, rows, rows, wide)
        BEGIN_SUMS(C01, to + SIDE, rows, rows, wide - SIDE)
        if (more > 0) {
            BEGIN_SUMS(C10, to + PANEL, rows, rows, more)
            BEGIN_SUMS(C11, to + PANEL + SIDE, rows, rows, more - SIDE)
            EACH_STEP(MULTIPLY_ACROSS)
            END_SUMS(C10, to + PANEL, rows, rows, more)
            END_SUMS(C11, to + PANEL + SIDE, rows, rows, more - SIDE)
        } else {
            EACH_STEP(MULTIPLY)
        }
        END_SUMS(C00, to, rows, rows, wide)
        END_SUMS(C01, to + SIDE, rows, rows, wide - SIDE)
    }
    unit_end(u);
}

// y = act(op(a) op(b) + bias) + residual, with a and b rounded to bf16
WORK_GROUP(1, 1, 1)
kernel void matmul_unit(global float *y, global const float *a,
                        global const uint *panels, global const float *bias,
                        global const float *residual, matmul_shape s, matmul_cut cut,
                        local uint *scratch)
{
    const int i0 = GROUP(0) * cut.rows, j0 = GROUP(1) * cut.panels * PANEL;
    const size_t batch = GROUP(2);
    const int rows = min(cut.rows, s.M - i0);
    const int columns = min(cut.panels * PANEL, s.N - j0);
    const int steps = (s.K + DEPTH - 1) / DEPTH, across = (s.N + PANEL - 1) / PANEL;
    const size_t panel = (size_t)steps * 2 * PARTS * FRAGMENT;
    global float *to = y + s.y_offset + batch * s.y_stride + (size_t)i0 * s.y_ld + j0;
    a += s.a_offset + batch * s.a_stride + (s.transpose_a ? i0 : (size_t)i0 * s.a_ld);
    panels += ((s.b_stride ? batch * across : 0) + j0 / PANEL) * panel;
    for (int k = 0; k < s.K; k += cut.depth) {
        const int depth = min(cut.depth, s.K - k);
        pack_left(scratch, a + (s.transpose_a ? (size_t)k * s.a_ld : (size_t)k), s,
                  rows, depth);
        global const uint *b = panels + (size_t)(k / DEPTH) * 2 * PARTS * FRAGMENT;
        if (rows > SIDE) {
            multiply_rows(to, scratch, b, s, rows, columns, depth, panel, s.add || k);
        } else {
            multiply_few(to, scratch, b, s, rows, columns, depth, panel, s.add || k);
        }
    }
    if (bias || residual || s.activation) {
        finish_block(to - j0, bias, residual, s, i0, rows, j0, j0 + columns, batch);
    }
}

// packs op(b) [K,N] into panels; an item packs `steps` times 32 inner indices of one
WORK_GROUP(1, 1, 1)
kernel void matmul_unit_pack(global uint *panels, global const float *restrict b,
                             matmul_shape s, int steps)
{
    const int j = GROUP(1) * PANEL, all = (s.K + DEPTH - 1) / DEPTH;
    const int first = GROUP(0) * steps, across = (s.N + PANEL - 1) / PANEL;
    const size_t batch = GROUP(2), panel = batch * across + GROUP(1);
    panels += (panel * all + first) * 2 * PARTS * FRAGMENT;
    b += s.b_offset + batch * s.b_stride;
    for (int k = first * DEPTH; k < min(all, first + steps) * DEPTH; k += DEPTH) {
        for (int side = 0; side < PANEL; side += SIDE, panels += PARTS * FRAGMENT) {
            uint16 x[PARTS * SIDE];
            const int column = j + side;
            const size_t at = s.transpose_b ? (size_t)column * s.b_ld + k
                                            : (size_t)k * s.b_ld + column;
            load_fragments(x, b + at, s.b_ld, s.transpose_b, s.N - column, s.K - k);
            store_right(panels, x, s.transpose_b);
        }
    }
}
