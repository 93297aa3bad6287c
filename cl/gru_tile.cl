/* gru_tile.cl - a gated recurrent unit (GRU) for CPU devices; each work-item has a
 * group of sequences.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,3n], in the order r, u,
 * candidate, hold x w_x + b at first, after forward the activations, after
 * backward the gradients of the pre-activations. Panels hold the state's rows of both
 * weights, packed by matmul_pack.
 * Work-group: 1 item, which goes through time with its own sequences, independent of
 * other items. It reads the weights once a step for all of them.
 * Defines: VEC, MR and TOUCH as in matmul_tile.cl.
 * Numerics: f32 sums in the order of the inner index.
 * Writes: y and h whole; the gradient of h0 whole (added to when add_h). */
#include "recurrent_tile.clh"

/* Offsets of the parts of a group's own rows, see tile_part: the state or its gradient,
 * the reset state or the gradient of the candidate, the gates or their gradients, sums,
 * and packed rows. */
enum { STATE = 0, INNER = 1, GATES = 2, SUM = 4, PACKED_ROWS = 5 };

/* Computes r, u = sigmoid(gates + sum) and inner = r h', columns j .. end-1. */
INLINE void gru_gates(global float *gates, global float *inner, global const float *sum,
                      global const float *state, int n, int j, int end, int whole)
{
    for (; j < end; j += VEC) {
        const int left = whole ? VEC : n - j;
        floatv under_r, under_u;
        const floatv r = sigmoid_ratio(
            load_some(gates + j, left) + load_some(sum + j, left), &under_r);
        const floatv u = sigmoid_ratio(
            load_some(gates + n + j, left) + load_some(sum + n + j, left), &under_u);
        const floatv one = 1.0f / (under_r * under_u);
        const floatv reset = sigmoid_of(r * under_u * one);
        store_some(reset, gates + j, left);
        store_some(sigmoid_of(u * under_r * one), gates + n + j, left);
        store_some(reset * load_some(state + j, left), inner + j, left);
    }
}

/* Computes the candidate tanh(gates + sum) and h = u h' + (1 - u) candidate. */
INLINE void gru_state(global float *y, global float *state, global float *gates,
                      global const float *sum, int n, int j, int end, int whole)
{
    for (; j < end; j += VEC) {
        const int left = whole ? VEC : n - j;
        const floatv u = load_some(gates + n + j, left);
        const floatv c =
            tanh_v(load_some(gates + 2 * n + j, left) + load_some(sum + j, left));
        const floatv h = multiply_add(u, load_some(state + j, left) - c, c);
        store_some(c, gates + 2 * n + j, left);
        store_some(h, state + j, left);
        store_some(h, y + j, left);
    }
}

// for each token, with h' the state of the previous one:
//   r, u = sigmoid(gates + h' w_g), h = u h' + (1 - u) tanh(gates + (r h') w_c)
WORK_GROUP(1, 1, 1)
kernel void gru_forward(global float *y, global float *h, global float *work,
                        global const float *h0, global const float *panels_g,
                        global const float *panels_c, global const int *offsets,
                        recurrent_shape s)
{
    const int rows = tile_rows(s), n = s.width;
    global float *own_h = tile_part(work, s, rows, STATE);
    global float *own_inner = tile_part(work, s, rows, INNER);
    global float *own_gates = tile_part(work, s, rows, GATES);
    global float *own_sum = tile_part(work, s, rows, SUM);
    global float *packed = tile_part(work, s, rows, PACKED_ROWS);
    gather_rows(own_h, h0, offsets, s, rows);
    int active = tile_active(offsets, s, rows, 0);
    for (int t = 0; active > 0; active = tile_active(offsets, s, active, ++t)) {
        for (int part = 0; part < 2; part++) { // gates; the candidate
            multiply_rows(part ? own_sum : own_gates, packed, part ? own_inner : own_h,
                          part ? panels_c : panels_g, active, n, part ? n : 2 * n, 0);
            for (int r = 0; r < active; r++) {
                const size_t at = token_at(offsets, s, tile_place(s, r), t);
                global float *gates = work + at * 3 * n;
                global float *inner = own_inner + (size_t)r * n;
                global float *state = own_h + (size_t)r * n;
                if (part) {
                    OVER_COLUMNS(n, gru_state(y + at * n, state, gates,
                                              own_sum + (size_t)r * n, n, first, end,
                                              whole));
                    continue;
                }
                OVER_COLUMNS(n, gru_gates(gates, inner, own_gates + (size_t)r * 2 * n,
                                          state, n, first, end, whole));
                if (s.keep) {
                    copy_row(work + s.before + at * n, state, n);
                    copy_row(work + s.inner + at * n, inner, n);
                }
            }
        }
    }
    scatter_rows(h, own_h, offsets, s, rows, 0);
}

/* Computes the gradients of u and of the candidate; dh becomes its part that reaches h'
 * through u. */
INLINE void gru_state_back(global float *gates, global float *own, global float *inner,
                           global float *sums, global float *dh, global const float *dy,
                           global const float *before, int n, int j, int end, int whole)
{
    for (; j < end; j += VEC) {
        const int left = whole ? VEC : n - j;
        const floatv u = load_some(gates + n + j, left);
        const floatv c = load_some(gates + 2 * n + j, left);
        floatv to_h = load_some(dh + j, left);
        to_h = dy ? to_h + load_some(dy + j, left) : to_h;
        const floatv du = to_h * (load_some(before + j, left) - c) * u * (1.0f - u);
        const floatv dc = to_h * (1.0f - u) * (1.0f - c * c);
        store_some(to_h * u, dh + j, left);
        store_some(du, gates + n + j, left);
        store_some(du, own + n + j, left);
        add_some(du, sums + n + j, left);
        store_some(dc, gates + 2 * n + j, left);
        store_some(dc, inner + j, left);
        add_some(dc, sums + 2 * n + j, left);
    }
}

/* Computes the gradient of r from d, that of r h'; adds to dh the part that reaches h'
 * through r h'. */
INLINE void gru_reset_back(global float *gates, global float *own, global float *sums,
                           global float *dh, global const float *d,
                           global const float *before, int n, int j, int end, int whole)
{
    for (; j < end; j += VEC) {
        const int left = whole ? VEC : n - j;
        const floatv r = load_some(gates + j, left), to_inner = load_some(d + j, left);
        const floatv dr = to_inner * load_some(before + j, left) * r * (1.0f - r);
        add_some(to_inner * r, dh + j, left);
        store_some(dr, gates + j, left);
        store_some(dr, own + j, left);
        add_some(dr, sums + j, left);
    }
}

// replaces gates by the gradients of their pre-activations, last token first:
//   dh' = u dh + r d + (dr, du) w_g^T, d = dc w_c^T
WORK_GROUP(1, 1, 1)
kernel void gru_backward(global float *dh0, global float *work, global const float *dy,
                         global const float *dh, global const float *panels_g,
                         global const float *panels_c, global const int *offsets,
                         recurrent_shape s)
{
    const int rows = tile_rows(s), n = s.width;
    global float *own_h = tile_part(work, s, rows, STATE);
    global float *own_inner = tile_part(work, s, rows, INNER);
    global float *own_gates = tile_part(work, s, rows, GATES);
    global float *own_sum = tile_part(work, s, rows, SUM);
    global float *packed = tile_part(work, s, rows, PACKED_ROWS);
    global const float *before = work + s.before;
    global float *sums = work + s.sums + (size_t)GROUP(0) * 3 * n;
    clear_row(sums, 3 * n);
    gather_rows(own_h, dh, offsets, s, rows);
    for (int t = length_at(offsets, s, tile_place(s, 0)) - 1; t >= 0; t--) {
        const int active = tile_active(offsets, s, rows, t);
        for (int part = 0; part < 2; part++) { // u and the candidate; r
            for (int r = 0; r < active; r++) {
                const size_t at = token_at(offsets, s, tile_place(s, r), t);
                global float *gates = work + at * 3 * n;
                global float *gate_row = own_gates + (size_t)r * 2 * n;
                if (part) {
                    OVER_COLUMNS(
                        n, gru_reset_back(gates, gate_row, sums, own_h + (size_t)r * n,
                                          own_sum + (size_t)r * n, before + at * n, n,
                                          first, end, whole));
                } else {
                    OVER_COLUMNS(
                        n,
                        gru_state_back(gates, gate_row, own_inner + (size_t)r * n, sums,
                                       own_h + (size_t)r * n, dy ? dy + at * n : 0,
                                       before + at * n, n, first, end, whole));
                }
            }
            if (!part || t > 0 || dh0) {
                multiply_rows(part ? own_h : own_sum, packed,
                              part ? own_gates : own_inner, part ? panels_g : panels_c,
                              active, part ? 2 * n : n, n, part);
            }
        }
    }
    scatter_rows(dh0, own_h, offsets, s, rows, s.add_h);
}
