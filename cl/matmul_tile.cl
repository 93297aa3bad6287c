/* matmul_tile.cl - matrix products for CPU devices; each work-item has a block of the
 * result.
 *
 * Layout: row-major matrices, each with an offset, a row stride and a batch stride.
 * Work-group: 1 item; it packs its inputs into panels of MR rows and of TILE_N columns,
 * and multiplies them while they are in the first caches.
 * Defines: VEC, the native width; MR, rows of a register tile; PACKED, 1 if b holds the
 * panels that matmul_pack made; TOUCH, 1 to prefetch into caches; WEIGHTS, the number
 * format of b and its panels.
 * Numerics: f32 sums in the order of the inner index, cut at depth: the same bits for
 * any cut of rows and columns, packed or not.
 * Writes: y whole (added to when add). */
#include "matmul.clh"
#include "matmul_panel.clh"
#include "matmul_tile_args.h"
// needs the headers above
#include "matmul_block.clh"

/* Return where inner index k of a block of a, and of a panel of b, begins. */
INLINE global const float *block_of_a(global const float *a, const matmul_shape s,
                                      int k)
{
    return a + (s.transpose_a ? (size_t)k * s.a_ld : (size_t)k);
}

INLINE global const weight *panel_of_b(global const weight *b, const matmul_shape s,
                                       int j, int k)
{
#if PACKED
    return b + (size_t)j * s.K + (size_t)k * TILE_N;
#else
    return b + (s.transpose_b ? (size_t)j * s.b_ld + k : (size_t)k * s.b_ld + j);
#endif
}

/* Computes columns j0 .. j1-1 of a block of rows, over the inner indices from k0 on. a
 * is packed; the memory behind it is free for a panel of b. */
INLINE void multiply_block(tile t, local float *a, global const float *next_a,
                           global const weight *b, global const float *scale,
                           const matmul_shape s, const matmul_cut cut, int j0, int j1,
                           int k0)
{
    const int depth = min(cut.depth, s.K - k0), last = s.transpose_a ? depth : t.rows;
    global float *y = t.y;
    t.next_b_ld = PACKED ? TILE_N : s.transpose_b ? 0 : s.b_ld;
    for (int j = j0; j < j1; j += TILE_N) {
        const int done = (j - j0) / TILE_N * (t.rows / MR); // tiles, one row of a each
        t.y = y + j;
        t.cols = s.N - j;
        t.scale = scale + j; // unused where weights are floats
        t.next_b = panel_of_b(b, s, min(j + TILE_N, j1 - 1), k0);
        t.next_a = next_a + (size_t)min(done, last - 1) * s.a_ld;
#if PACKED
        multiply_panel(t, a, panel_of_b(b, s, j, k0), depth, s.a_ld);
#else
        local float *panel = a + packed_rows(cut.rows) * cut.depth;
        if (s.transpose_b) {
            pack_b_transposed(panel, panel_of_b(b, s, j, k0), s.b_ld, t.cols, depth);
        } else {
            pack_b(panel, panel_of_b(b, s, j, k0), s.b_ld, t.cols, depth);
        }
        multiply_panel(t, a, panel, depth, s.a_ld);
#endif
    }
}

// y = act(op(a) op(b) + bias) + residual; column j of op(b) is multiplied with scale[j]
// if b has 8 bits
WORK_GROUP(1, 1, 1)
kernel void matmul_tile(global float *y, global const float *a, global const weight *b,
                        global const float *bias, global const float *residual,
                        global const float *scale, matmul_shape s, matmul_cut cut,
                        local float *scratch)
{
    const int i0 = GROUP(0) * cut.rows, j0 = GROUP(1) * cut.panels * TILE_N;
    const size_t batch = GROUP(2);
    const int j1 = min(s.N, j0 + cut.panels * TILE_N);
    tile t = { .ld = s.y_ld, .rows = min(cut.rows, s.M - i0) };
    t.y = y + s.y_offset + batch * s.y_stride + (size_t)i0 * s.y_ld;
    a += s.a_offset + batch * s.a_stride + (s.transpose_a ? i0 : (size_t)i0 * s.a_ld);
    b += PACKED ? 0 : s.b_offset + batch * s.b_stride;
    int k0 = 0;
    do { // one round even if K is 0, to write zeros
        const int next = k0 + cut.depth < s.K ? k0 + cut.depth : k0;
        pack_a(scratch, block_of_a(a, s, k0), s.a_ld, s.transpose_a, t.rows,
               min(cut.depth, s.K - k0));
        t.add = s.add || k0;
        multiply_block(t, scratch, block_of_a(a, s, next), b, scale, s, cut, j0, j1,
                       k0);
        k0 += cut.depth;
    } while (k0 < s.K);
    if (bias || residual || s.activation) {
        finish_block(t.y, bias, residual, s, i0, t.rows, j0, j1, batch);
    }
}

#if PACKED
/* Returns where inner index k of the panel of column j begins. */
INLINE size_t panel_of(const matmul_shape s, int j, int k)
{
    return (size_t)j * s.K + (size_t)k * TILE_N;
}

// packs op(b) [K,N] into panels of TILE_N columns, from y_offset on; an item packs
// depth inner indices of a panel
WORK_GROUP(1, 1, 1)
kernel void matmul_pack(global weight *restrict packed, global const weight *restrict b,
                        matmul_shape s, int depth)
{
    const int j = GROUP(1) * TILE_N, k = GROUP(0) * depth;
    global weight *to = packed + s.y_offset + panel_of(s, j, k);
    b += s.b_offset;
    if (s.transpose_b) {
        pack_b_transposed(to, b + (size_t)j * s.b_ld + k, s.b_ld, s.N - j,
                          min(depth, s.K - k));
    } else {
        pack_b(to, b + (size_t)k * s.b_ld + j, s.b_ld, s.N - j, min(depth, s.K - k));
    }
}

// writes op(b) from panels, the inverse of matmul_pack
WORK_GROUP(1, 1, 1)
kernel void matmul_unpack(global weight *restrict b,
                          global const weight *restrict packed, matmul_shape s,
                          int depth)
{
    const int j0 = GROUP(1) * TILE_N, k0 = GROUP(0) * depth;
    const int cols = min(TILE_N, s.N - j0), deep = min(depth, s.K - k0);
    global const weight *from = packed + s.y_offset + panel_of(s, j0, k0);
    const size_t along = s.transpose_b ? 1 : s.b_ld,
                 across = s.transpose_b ? s.b_ld : 1;
    b += s.b_offset + k0 * along + j0 * across;
    for (int k = 0; k < deep; k++) {
        for (int j = 0; j < cols; j++) {
            b[k * along + j * across] = from[k * TILE_N + j];
        }
    }
}
#endif
