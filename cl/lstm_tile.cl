/* lstm_tile.cl - a long short-term memory (LSTM) for CPU devices; each work-item has a
 * group of sequences.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,4n], in the order i, g, f, o,
 * hold x w_x + b at first, after forward the activations, after backward the
 * gradients of the pre-activations. Panels hold the state's rows of the weights, packed
 * by matmul_pack.
 * Work-group: 1 item, which goes through time with its own sequences, independent of
 * other items. It reads the weights once a step for all of them.
 * Defines: VEC, MR and TOUCH as in matmul_tile.cl.
 * Numerics: f32 sums in the order of the inner index.
 * Writes: y, h and c whole; gradients of h0, c0 whole (added to when add_h, add_c). */
#include "recurrent_tile.clh"

/* Offsets of the parts of a group's own rows, see tile_part: the state or its gradient,
 * the gradient of the cell, the gates or their gradients, and packed rows. */
enum { STATE = 0, CELL = 1, GATES = 2, PACKED_ROWS = 6 };

/* Replaces pre-activations by gates with a single division: i, o = sigmoid(a), g =
 * tanh(a), f = sigmoid(a + 1). */
INLINE void squash(floatv a[4])
{
    floatv under[4];
    a[0] = sigmoid_ratio(a[0], under);
    a[1] = tanh_ratio(a[1], under + 1);
    a[2] = sigmoid_ratio(a[2] + 1.0f, under + 2);
    a[3] = sigmoid_ratio(a[3], under + 3);
    const floatv ig = under[0] * under[1], fo = under[2] * under[3];
    const floatv one = 1.0f / (ig * fo), of_ig = one * fo, of_fo = one * ig;
    a[0] = sigmoid_of(a[0] * under[1] * of_ig);
    a[1] = a[1] * under[0] * of_ig;
    a[2] = sigmoid_of(a[2] * under[3] * of_fo);
    a[3] = sigmoid_of(a[3] * under[2] * of_fo);
}

/* Computes one token's cell c = f c' + i g and state h = o tanh(c), columns j
 * .. end-1. */
INLINE void lstm_cell(global float *y, global float *state, global float *gates,
                      global float *cells, global const float *sum,
                      global const float *before, int n, int j, int end, int whole)
{
    for (; j < end; j += VEC) {
        const int left = whole ? VEC : n - j;
        floatv a[4];
        for (int g = 0; g < 4; g++) {
            a[g] =
                load_some(gates + g * n + j, left) + load_some(sum + g * n + j, left);
        }
        squash(a);
        const floatv last = before ? load_some(before + j, left) : (floatv)(0.0f);
        const floatv c = multiply_add(a[2], last, a[0] * a[1]);
        const floatv h = a[3] * tanh_v(c);
        for (int g = 0; g < 4; g++) {
            store_some(a[g], gates + g * n + j, left);
        }
        store_some(c, cells + j, left);
        store_some(h, state + j, left);
        store_some(h, y + j, left);
    }
}

// for each token, with h' and c' of the previous one:
//   a = gates + h' w_h, c = f c' + i g, h = o tanh(c)
WORK_GROUP(1, 1, 1)
kernel void lstm_forward(global float *y, global float *h, global float *c,
                         global float *work, global const float *h0,
                         global const float *c0, global const float *panels,
                         global const int *offsets, recurrent_shape s)
{
    const int rows = tile_rows(s), n = s.width;
    global float *own_h = tile_part(work, s, rows, STATE);
    global float *own_gates = tile_part(work, s, rows, GATES);
    global float *packed = tile_part(work, s, rows, PACKED_ROWS);
    global float *cells = work + s.inner;
    gather_rows(own_h, h0, offsets, s, rows);
    int active = tile_active(offsets, s, rows, 0);
    for (int t = 0; active > 0; active = tile_active(offsets, s, active, ++t)) {
        multiply_rows(own_gates, packed, own_h, panels, active, n, 4 * n, 0);
        for (int r = 0; r < active; r++) {
            const int place = tile_place(s, r);
            const size_t at = token_at(offsets, s, place, t);
            global float *state = own_h + (size_t)r * n;
            if (s.keep) {
                copy_row(work + s.before + at * n, state, n);
            }
            OVER_COLUMNS(n, lstm_cell(y + at * n, state, work + at * 4 * n,
                                      cells + at * n, own_gates + (size_t)r * 4 * n,
                                      row_before(cells, c0, offsets, s, place, t), n,
                                      first, end, whole));
        }
    }
    scatter_rows(h, own_h, offsets, s, rows, 0);
    last_rows(c, cells, c0, offsets, s, rows);
}

/* Replaces one token's gates by their gradients. dh and dc are the gradients of its
 * state and cell from later tokens; dc becomes that of the previous cell. */
INLINE void lstm_cell_back(global float *gates, global float *own, global float *sums,
                           global const float *dh, global float *dc,
                           global const float *dy, global const float *cell,
                           global const float *before, int n, int j, int end, int whole)
{
    for (; j < end; j += VEC) {
        const int left = whole ? VEC : n - j;
        floatv a[4];
        for (int g = 0; g < 4; g++) {
            a[g] = load_some(gates + g * n + j, left);
        }
        const floatv last = before ? load_some(before + j, left) : (floatv)(0.0f);
        const floatv squashed = tanh_v(load_some(cell + j, left));
        floatv to_h = load_some(dh + j, left);
        to_h = dy ? to_h + load_some(dy + j, left) : to_h;
        const floatv to_c =
            load_some(dc + j, left) + to_h * a[3] * (1.0f - squashed * squashed);
        store_some(to_c * a[2], dc + j, left);
        const floatv d[4] = { to_c * a[1] * a[0] * (1.0f - a[0]),
                              to_c * a[0] * (1.0f - a[1] * a[1]),
                              to_c * last * a[2] * (1.0f - a[2]),
                              to_h * squashed * a[3] * (1.0f - a[3]) };
        for (int g = 0; g < 4; g++) {
            store_some(d[g], gates + g * n + j, left);
            store_some(d[g], own + g * n + j, left);
            add_some(d[g], sums + g * n + j, left);
        }
    }
}

// replaces gates by the gradients of their pre-activations, last token first:
//   dh' = da w_h^T, dc' = dc f
WORK_GROUP(1, 1, 1)
kernel void lstm_backward(global float *dh0, global float *dc0, global float *work,
                          global const float *dy, global const float *dh,
                          global const float *dc, global const float *c0,
                          global const float *panels, global const int *offsets,
                          recurrent_shape s)
{
    const int rows = tile_rows(s), n = s.width;
    global float *own_h = tile_part(work, s, rows, STATE);
    global float *own_c = tile_part(work, s, rows, CELL);
    global float *own_gates = tile_part(work, s, rows, GATES);
    global float *packed = tile_part(work, s, rows, PACKED_ROWS);
    global const float *cells = work + s.inner;
    global float *sums = work + s.sums + (size_t)GROUP(0) * 4 * n;
    clear_row(sums, 4 * n);
    gather_rows(own_h, dh, offsets, s, rows);
    gather_rows(own_c, dc, offsets, s, rows);
    for (int t = length_at(offsets, s, tile_place(s, 0)) - 1; t >= 0; t--) {
        const int active = tile_active(offsets, s, rows, t);
        for (int r = 0; r < active; r++) {
            const int place = tile_place(s, r);
            const size_t at = token_at(offsets, s, place, t);
            OVER_COLUMNS(n, lstm_cell_back(work + at * 4 * n,
                                           own_gates + (size_t)r * 4 * n, sums,
                                           own_h + (size_t)r * n, own_c + (size_t)r * n,
                                           dy ? dy + at * n : 0, cells + at * n,
                                           row_before(cells, c0, offsets, s, place, t),
                                           n, first, end, whole));
        }
        if (t > 0 || dh0) {
            multiply_rows(own_h, packed, own_gates, panels, active, 4 * n, n, 0);
        }
    }
    scatter_rows(dh0, own_h, offsets, s, rows, s.add_h);
    scatter_rows(dc0, own_c, offsets, s, rows, s.add_c);
}
