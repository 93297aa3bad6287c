/* sru_tile.cl - a simple recurrent unit (SRU) for CPU devices; each work-item has a
 * group of sequences.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,3n], in the order z, f, r,
 * hold x w_x + b at first, after forward z, f and r, after backward the
 * gradients of the pre-activations; inner holds the cells [N,n].
 * Work-group: 1 item, which goes through time with its own sequences, independent of
 * other items.
 * Defines: VEC, MR and TOUCH as in matmul_tile.cl.
 * Numerics: f32, element by element.
 * Writes: y and c whole; the gradient of c0 whole (added to when add_c). */
#include "recurrent_tile.clh"

/* Computes one token's c = tanh(f c' + (1 - f) z) and h = r c + (1 - r) z. */
INLINE void sru_cell(global float *y, global float *gates, global float *cells,
                     global const float *before, int n, int j, int end, int whole)
{
    for (; j < end; j += VEC) {
        const int left = whole ? VEC : n - j;
        floatv under_f, under_r;
        const floatv x = load_some(gates + j, left);
        const floatv over_f = sigmoid_ratio(load_some(gates + n + j, left), &under_f);
        const floatv over_r =
            sigmoid_ratio(load_some(gates + 2 * n + j, left), &under_r);
        const floatv one = 1.0f / (under_f * under_r);
        const floatv f = sigmoid_of(over_f * under_r * one);
        const floatv r = sigmoid_of(over_r * under_f * one);
        const floatv last = before ? load_some(before + j, left) : (floatv)(0.0f);
        const floatv c = tanh_v(multiply_add(f, last - x, x));
        store_some(f, gates + n + j, left);
        store_some(r, gates + 2 * n + j, left);
        store_some(c, cells + j, left);
        store_some(multiply_add(r, c - x, x), y + j, left);
    }
}

// for each token, with c' of the previous one:
//   c = tanh(f c' + (1 - f) z), h = r c + (1 - r) z
WORK_GROUP(1, 1, 1)
kernel void sru_forward(global float *y, global float *c, global float *work,
                        global const float *c0, global const int *offsets,
                        recurrent_shape s)
{
    const int rows = tile_rows(s), n = s.width;
    global float *cells = work + s.inner;
    for (int r = 0; r < rows; r++) {
        const int place = tile_place(s, r), length = length_at(offsets, s, place);
        for (int t = 0; t < length; t++) {
            const size_t at = token_at(offsets, s, place, t);
            OVER_COLUMNS(n, sru_cell(y + at * n, work + at * 3 * n, cells + at * n,
                                     row_before(cells, c0, offsets, s, place, t), n,
                                     first, end, whole));
        }
    }
    last_rows(c, cells, c0, offsets, s, rows);
}

/* Replaces one token's gates by their gradients. dc is the gradient of its cell from
 * later tokens and becomes that of the previous cell. */
INLINE void sru_cell_back(global float *gates, global float *sums, global float *dc,
                          global const float *dy, global const float *cell,
                          global const float *before, int n, int j, int end, int whole)
{
    for (; j < end; j += VEC) {
        const int left = whole ? VEC : n - j;
        const floatv x = load_some(gates + j, left);
        const floatv f = load_some(gates + n + j, left);
        const floatv r = load_some(gates + 2 * n + j, left);
        const floatv c = load_some(cell + j, left);
        const floatv last = before ? load_some(before + j, left) : (floatv)(0.0f);
        const floatv to_h = dy ? load_some(dy + j, left) : (floatv)(0.0f);
        const floatv to_sum = (load_some(dc + j, left) + to_h * r) * (1.0f - c * c);
        const floatv d[3] = { to_h * (1.0f - r) + to_sum * (1.0f - f),
                              to_sum * (last - x) * f * (1.0f - f),
                              to_h * (c - x) * r * (1.0f - r) };
        store_some(to_sum * f, dc + j, left);
        for (int g = 0; g < 3; g++) {
            store_some(d[g], gates + g * n + j, left);
            add_some(d[g], sums + g * n + j, left);
        }
    }
}

// replaces gates by the gradients of their pre-activations, last token first:
//   dc' = dc (1 - c^2) f
WORK_GROUP(1, 1, 1)
kernel void sru_backward(global float *dc0, global float *work, global const float *dy,
                         global const float *dc, global const float *c0,
                         global const int *offsets, recurrent_shape s)
{
    const int rows = tile_rows(s), n = s.width;
    global const float *cells = work + s.inner;
    global float *sums = work + s.sums + (size_t)GROUP(0) * 3 * n;
    global float *own = tile_part(work, s, rows, 0);
    clear_row(sums, 3 * n);
    gather_rows(own, dc, offsets, s, rows);
    for (int r = 0; r < rows; r++) {
        const int place = tile_place(s, r);
        for (int t = length_at(offsets, s, place) - 1; t >= 0; t--) {
            const size_t at = token_at(offsets, s, place, t);
            OVER_COLUMNS(n, sru_cell_back(work + at * 3 * n, sums, own + (size_t)r * n,
                                          dy ? dy + at * n : 0, cells + at * n,
                                          row_before(cells, c0, offsets, s, place, t),
                                          n, first, end, whole));
        }
    }
    scatter_rows(dc0, own, offsets, s, rows, s.add_c);
}
