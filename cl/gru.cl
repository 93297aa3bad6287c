/* gru.cl - a gated recurrent unit, some sequences to each work-group.
 *
 * Layout: packed rows; work as recurrent.clh has it, gates [N,3n] in the order r, u,
 * candidate: sums of inputs, then what the cell made of them, at last their gradients.
 * Work-group: WG items along the width of the state; it walks through time with its
 * ROWS sequences, which owe nothing to others, and meets two barriers at each step.
 * Defines: WG; ROWS.
 * Numerics: f32 sums in the order of the inner index.
 * Writes: y and h whole; the gradient of h0 whole (added to when asked). */
#include "recurrent_group.clh"

// the cell token by token, with h' of the token before:
// r, u = sigmoid(gates + h' w_g), h = u h' + (1 - u) tanh(gates + (r h') w_c)
WORK_GROUP(WG, 1, 1)
kernel void gru_forward(global float *y, global float *h, global float *work,
                        global const float *h0, global const float *w_g,
                        global const float *w_c, global const int *offsets,
                        recurrent_shape s)
{
    const int rows = group_rows(s), n = s.width;
    w_g += (size_t)s.inputs * 2 * n;
    w_c += (size_t)s.inputs * n;
    const int longest = length_at(offsets, s, group_place(0));
    for (int t = 0; t < longest; t++) {
        global const float *before[ROWS];
        rows_before(before, y, h0, offsets, s, rows, t);
        for (int j = LANE(0); j < n; j += WG) {
            float2 a[ROWS];
            for (int r = 0; r < ROWS; r++) {
                a[r] = (float2)(0.0f);
            }
            for (int k = 0; k < n; k++) {
                global const float *p = w_g + (size_t)k * 2 * n + j;
                const float2 x = (float2)(p[0], p[n]);
                for (int r = 0; r < ROWS; r++) {
                    a[r] += before[r] ? before[r][k] * x : (float2)(0.0f);
                }
            }
            for (int r = 0; r < rows; r++) {
                if (t < length_at(offsets, s, group_place(r))) {
                    const size_t at = token_at(offsets, s, group_place(r), t);
                    global float *gate = work + at * 3 * n + j;
                    const float last = before[r] ? before[r][j] : 0.0f;
                    gate[0] = sigmoid(gate[0] + a[r].x);
                    gate[n] = sigmoid(gate[n] + a[r].y);
                    work[s.inner + at * n + j] = gate[0] * last;
                    if (s.keep) {
                        work[s.before + at * n + j] = last;
                    }
                }
            }
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int i = LANE(0); i < rows * n; i += WG) {
            const int place = group_place(i / n), j = i % n;
            if (t >= length_at(offsets, s, place)) {
                continue;
            }
            const size_t at = token_at(offsets, s, place, t);
            global const float *last = row_before(y, h0, offsets, s, place, t);
            global const float *inner = work + s.inner + at * n;
            global float *gate = work + at * 3 * n + j;
            float sum = 0.0f;
            for (int k = 0; k < n; k++) {
                sum += inner[k] * w_c[(size_t)k * n + j];
            }
            const float u = gate[n], candidate = tanh(gate[2 * n] + sum);
            gate[2 * n] = candidate;
            y[at * n + j] = u * (last ? last[j] : 0.0f) + (1.0f - u) * candidate;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    last_rows(h, y, h0, offsets, s, rows);
}

// gates become gradients of their sums, last token first:
// dh' = u dh + r d + (dr, du) w_g', d = dc w_c'
WORK_GROUP(WG, 1, 1)
kernel void gru_backward(global float *dh0, global float *work, global const float *dy,
                         global const float *dh, global const float *w_g,
                         global const float *w_c, global const int *offsets,
                         recurrent_shape s)
{
    const int rows = group_rows(s), n = s.width;
    global const float *before = work + s.before;
    global float *sums = work + s.sums + (size_t)GROUP(0) * 3 * n;
    global float *own = work + s.scratch + (size_t)GROUP(0) * s.stride;
    w_g += (size_t)s.inputs * 2 * n;
    w_c += (size_t)s.inputs * n;
    first_rows(own, dh, offsets, s, rows);
    clear_columns(sums, 3 * n);
    const int longest = length_at(offsets, s, group_place(0));
    for (int t = longest - 1; t >= 0; t--) {
        for (int i = LANE(0); i < rows * n; i += WG) { // u and the candidate
            const int place = group_place(i / n), j = i % n;
            if (t < length_at(offsets, s, place)) {
                const size_t at = token_at(offsets, s, place, t);
                global float *gate = work + at * 3 * n + j;
                const float u = gate[n], c = gate[2 * n];
                const float to_h = own[i] + (dy ? dy[at * n + j] : 0.0f);
                own[i] = to_h * u;
                gate[n] = to_h * (before[at * n + j] - c) * u * (1.0f - u);
                gate[2 * n] = to_h * (1.0f - u) * (1.0f - c * c);
            }
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int i = LANE(0); i < rows * n; i += WG) { // r
            const int place = group_place(i / n), j = i % n;
            if (t < length_at(offsets, s, place)) {
                const size_t at = token_at(offsets, s, place, t);
                global float *gate = work + at * 3 * n;
                const float r = gate[j];
                const float d = dot_rows(gate + 2 * n, w_c + (size_t)j * n, n);
                own[i] += d * r;
                gate[j] = d * before[at * n + j] * r * (1.0f - r);
            }
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        add_columns(sums, work, 3 * n, offsets, s, rows, t);
        for (int i = LANE(0); i < rows * n; i += WG) {
            const int place = group_place(i / n);
            if (t < length_at(offsets, s, place)) {
                own[i] += dot_rows(work + token_at(offsets, s, place, t) * 3 * n,
                                   w_g + (size_t)(i % n) * 2 * n, 2 * n);
            }
        }
    }
    give_rows(dh0, own, offsets, s, rows, s.add_h);
}
