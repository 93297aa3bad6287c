/* matmul_bytes.cl - matrix products of numbers of 8 bits for CPU devices.
 *
 *   y[i,j] = act(r[i] s[j] sum_k q[i,k] b[k,j] + bias[j]) + residual[i,j]
 *
 * q[i,k] = a[i,k] / r[i], rounded to the nearest whole number, ties to even; r[i] =
 * max_k |a[i,k]| / 127; s[j], the scale of a column of weights. Source: Dettmers et al.
 * 2022, LLM.int8(), 3.1.
 *
 * Layout: a [M,K], y and residual [M,N] row-major, with strides; weights in the panels
 * that matmul_bytes_pack makes.
 * Work-group: 1 item, which has a block of the result.
 * Defines: VEC, the native width; BYTES, what multiplies (bytes.clh).
 * Local: the rows of an item, in whole blocks of 16.
 * Numerics: sums are whole numbers of 32 bits, exact: any cut and any BYTES gives the
 * same bits. A row with numbers that are not finite gives NaN.
 * Writes: y whole. */
#include "matmul.clh"
#include "vector.clh"
// needs the header above
#include "bytes.clh"
#include "matmul_block.clh"
#include "matmul_tile_args.h"

/* y = t times the scales of its rows and columns: `rows` rows of at most 32 columns. */
INLINE void store_block(global float *y, int ld, const int *t, const float *row_scale,
                        global const float *scale, int rows, int columns)
{
    for (int r = 0; r < rows; r++, y += ld, t += BYTES_PANEL) {
        int j = 0;
        for (; j + VEC <= min(columns, BYTES_PANEL); j += VEC) {
            const floatv sum = convert_floatv(as_intv(loadv(0, (const float *)t + j)));
            storev(sum * (loadv(0, scale + j) * row_scale[r]), 0, y + j);
        }
        for (; j < min(columns, BYTES_PANEL); j++) {
            y[j] = (float)t[j] * (scale[j] * row_scale[r]);
        }
    }
}

// y = act(q(a) op(b) + bias) + residual
WORK_GROUP(1, 1, 1)
kernel void matmul_bytes(global float *y, global const float *a,
                         global const char *panels, global const float *bias,
                         global const float *residual, global const float *scale,
                         matmul_shape s, matmul_cut cut, local left_number *q)
{
    const int i0 = GROUP(0) * cut.rows, j0 = GROUP(1) * cut.panels * BYTES_PANEL;
    const int rows = min(cut.rows, s.M - i0),
              steps = (s.K + BYTES_STEP - 1) / BYTES_STEP;
    const int j1 = min(s.N, j0 + cut.panels * BYTES_PANEL);
    global float *to = y + s.y_offset + (size_t)i0 * s.y_ld;
    float row_scale[BYTES_ROWS];
    int t[ROWS * BYTES_PANEL] __attribute__((aligned(64)));
    a += s.a_offset + (size_t)i0 * s.a_ld;
    for (int r = 0; r < rows; r++) {
        row_scale[r] =
            quantise_row(q + left_row(r, steps), a + (size_t)r * s.a_ld, s.K);
    }
    bytes_begin(rows);
    for (int j = j0; j < j1; j += BYTES_PANEL) {
        global const char *b = panels + PANEL_OF_BYTES(j, s.K);
        for (int r = 0; r < rows; r += ROWS) {
            const int high = min(rows - r, ROWS);
            sum_block(t, q + left_row(r, steps), b, steps, high);
            store_block(to + (size_t)r * s.y_ld + j, s.y_ld, t, row_scale + r,
                        scale + j, high, j1 - j);
        }
    }
    bytes_end();
    if (bias || residual || s.activation) {
        finish_block(to, bias, residual, s, i0, rows, j0, j1, 0);
    }
}

/* ---- panels ---------------------------------------------------------------------- */

/* Packs a fragment of columns from b [K,N], of which `depth` and `columns` are
 * inside. */
INLINE void pack_fragment(global char *to, global const char *b, int ld, int depth,
                          int columns)
{
    for (int k = 0; k < BYTES_STEP;
         k += 4, b += 4 * (size_t)ld, to += 4 * BYTES_BLOCK) {
        int j = 0;
        for (; j + 4 <= min(columns, BYTES_BLOCK) && k + 4 <= depth; j += 4) {
            const char4 x = vload4(0, b + j), y = vload4(0, b + ld + j);
            const char4 z = vload4(0, b + 2 * (size_t)ld + j);
            const char4 w = vload4(0, b + 3 * (size_t)ld + j);
            vstore4((char4)(x.s0, y.s0, z.s0, w.s0), 0, to + 4 * j);
            vstore4((char4)(x.s1, y.s1, z.s1, w.s1), 0, to + 4 * j + 4);
            vstore4((char4)(x.s2, y.s2, z.s2, w.s2), 0, to + 4 * j + 8);
            vstore4((char4)(x.s3, y.s3, z.s3, w.s3), 0, to + 4 * j + 12);
        }
        for (; j < BYTES_BLOCK; j++) {
            for (int i = 0; i < 4; i++) {
                const bool inside = j < columns && k + i < depth;
                to[4 * j + i] = inside ? b[(size_t)i * ld + j] : 0;
            }
        }
    }
}

/* The same from b stored as [N,K]. */
INLINE void pack_fragment_transposed(global char *to, global const char *b, int ld,
                                     int depth, int columns)
{
    for (int j = 0; j < BYTES_BLOCK; j++, b += ld, to += 4) {
        for (int k = 0; k < BYTES_STEP; k += 4) {
            const bool whole = j < columns && k + 4 <= depth;
            char4 four = whole ? vload4(0, b + k) : (char4)(0);
            if (!whole && j < columns && k < depth) {
                four.s0 = b[k];
                four.s1 = k + 1 < depth ? b[k + 1] : 0;
                four.s2 = k + 2 < depth ? b[k + 2] : 0;
            }
            vstore4(four, 0, to + k * BYTES_BLOCK);
        }
    }
}

// packs op(b) [K,N] into panels, from y_offset on; an item packs depth inner indices, a
// multiple of 64, of a panel
WORK_GROUP(1, 1, 1)
kernel void matmul_bytes_pack(global char *restrict packed,
                              global const char *restrict b, matmul_shape s, int depth)
{
    const int steps = (s.K + BYTES_STEP - 1) / BYTES_STEP, first = GROUP(0) * depth;
    b += s.b_offset;
    packed += s.y_offset +
              ((size_t)GROUP(1) * steps + first / BYTES_STEP) * 2 * BYTES_FRAGMENT;
    for (int k = first; k < min(first + depth, s.K); k += BYTES_STEP) {
        for (int j = GROUP(1) * BYTES_PANEL, end = j + BYTES_PANEL; j < end;
             j += BYTES_BLOCK) {
            const int deep = s.K - k, columns = s.N - j;
            if (s.transpose_b) {
                pack_fragment_transposed(packed, b + (size_t)j * s.b_ld + k, s.b_ld,
                                         deep, columns);
            } else {
                pack_fragment(packed, b + (size_t)k * s.b_ld + j, s.b_ld, deep,
                              columns);
            }
            packed += BYTES_FRAGMENT;
        }
    }
}

// writes op(b) from panels, the inverse of matmul_bytes_pack
WORK_GROUP(1, 1, 1)
kernel void matmul_bytes_unpack(global char *restrict b,
                                global const char *restrict packed, matmul_shape s,
                                int depth)
{
    const int j0 = GROUP(1) * BYTES_PANEL, k0 = GROUP(0) * depth;
    const int cols = min(BYTES_PANEL, s.N - j0), deep = min(depth, s.K - k0);
    global const char *from = packed + s.y_offset + PANEL_OF_BYTES(j0, s.K);
    const size_t along = s.transpose_b ? 1 : s.b_ld,
                 across = s.transpose_b ? s.b_ld : 1;
    b += s.b_offset;
    for (int k = k0; k < k0 + deep; k++) {
        for (int j = 0; j < cols; j++) {
            b[k * along + (j0 + j) * across] = from[BYTE_OF_PANEL(j, k)];
        }
    }
}
