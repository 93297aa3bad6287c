/* sru.cl - a simple recurrent unit (SRU), some sequences to each work-group.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,3n], in the order z, f, r,
 * hold x w_x + b at first, after forward z, f and r, after backward the
 * gradients of the pre-activations; inner holds the cells [N,n].
 * Work-group: WG items along the width of the state. Each goes through time with its
 * own columns; no item waits for another.
 * Defines: WG; ROWS.
 * Numerics: f32, element by element.
 * Writes: y and c whole; the gradient of c0 whole (added to when add_c). */
#include "recurrent_group.clh"

// c = tanh(f c' + (1 - f) z), h = r c + (1 - r) z, with c' of the previous token
WORK_GROUP(WG, 1, 1)
kernel void sru_forward(global float *y, global float *c, global float *work,
                        global const float *c0, global const int *offsets,
                        recurrent_shape s)
{
    const int rows = group_rows(s), n = s.width;
    global float *cells = work + s.inner;
    for (int i = LANE(0); i < rows * n; i += WG) {
        const int place = group_place(i / n), j = i % n;
        const int length = length_at(offsets, s, place);
        global const float *first = row_before(cells, c0, offsets, s, place, 0);
        float cell = first ? first[j] : 0.0f;
        for (int t = 0; t < length; t++) {
            const size_t at = token_at(offsets, s, place, t);
            global float *gate = work + at * 3 * n + j;
            const float x = gate[0], f = sigmoid(gate[n]), r = sigmoid(gate[2 * n]);
            cell = tanh(f * cell + (1.0f - f) * x);
            gate[n] = f;
            gate[2 * n] = r;
            cells[at * n + j] = cell;
            y[at * n + j] = r * cell + (1.0f - r) * x;
        }
        if (c) {
            c[(size_t)sequence_at(offsets, s, place) * n + j] = cell;
        }
    }
}

// replaces gates by the gradients of their pre-activations, last token first:
//   dc' = dc (1 - c^2) f
WORK_GROUP(WG, 1, 1)
kernel void sru_backward(global float *dc0, global float *work, global const float *dy,
                         global const float *dc, global const float *c0,
                         global const int *offsets, recurrent_shape s)
{
    const int rows = group_rows(s), n = s.width;
    global const float *cells = work + s.inner;
    global float *sums = work + s.sums + (size_t)GROUP(0) * 3 * n;
    for (int j = LANE(0); j < n; j += WG) {
        float sum[3] = { 0.0f, 0.0f, 0.0f };
        for (int row = 0; row < rows; row++) {
            const int place = group_place(row);
            const size_t b = sequence_at(offsets, s, place);
            float carried = dc ? dc[b * n + j] : 0.0f;
            for (int t = length_at(offsets, s, place) - 1; t >= 0; t--) {
                const size_t at = token_at(offsets, s, place, t);
                global float *gate = work + at * 3 * n + j;
                global const float *before =
                    row_before(cells, c0, offsets, s, place, t);
                const float x = gate[0], f = gate[n], r = gate[2 * n];
                const float c = cells[at * n + j], last = before ? before[j] : 0.0f;
                const float to_h = dy ? dy[at * n + j] : 0.0f;
                const float to_sum = (carried + to_h * r) * (1.0f - c * c);
                carried = to_sum * f;
                gate[0] = to_h * (1.0f - r) + to_sum * (1.0f - f);
                gate[n] = to_sum * (last - x) * f * (1.0f - f);
                gate[2 * n] = to_h * (c - x) * r * (1.0f - r);
                sum[0] += gate[0];
                sum[1] += gate[n];
                sum[2] += gate[2 * n];
            }
            if (dc0) {
                global float *to = dc0 + b * n + j;
                *to = s.add_c ? *to + carried : carried;
            }
        }
        sums[j] = sum[0];
        sums[n + j] = sum[1];
        sums[2 * n + j] = sum[2];
    }
}
