/* lstm.cl - a long short-term memory, some sequences to each work-group.
 *
 * Layout: packed rows; work as recurrent.clh has it, gates [N,4n] in the order i, g, f,
 * o: sums of inputs, then what the cell made of them, at last their gradients.
 * Work-group: WG items along the width of the state; it walks through time with its
 * ROWS sequences, which owe nothing to others, and meets a barrier at each step.
 * Defines: WG; ROWS.
 * Numerics: f32 sums in the order of the inner index.
 * Writes: y, h and c whole; gradients of h0 and c0 whole (added to when asked). */
#include "recurrent_group.clh"

// a = gates + h' w_h, c = f c' + i g, h = o tanh(c); h' and c' of the token before
WORK_GROUP(WG, 1, 1)
kernel void lstm_forward(global float *y, global float *h, global float *c,
                         global float *work, global const float *h0,
                         global const float *c0, global const float *w,
                         global const int *offsets, recurrent_shape s)
{
    const int rows = group_rows(s), n = s.width;
    global float *cells = work + s.inner;
    w += (size_t)s.inputs * 4 * n;
    const int longest = length_at(offsets, s, group_place(0));
    for (int t = 0; t < longest; t++) {
        global const float *before[ROWS];
        rows_before(before, y, h0, offsets, s, rows, t);
        for (int j = LANE(0); j < n; j += WG) {
            float4 a[ROWS];
            for (int r = 0; r < ROWS; r++) {
                a[r] = (float4)(0.0f);
            }
            for (int k = 0; k < n; k++) {
                global const float *p = w + (size_t)k * 4 * n + j;
                const float4 x = (float4)(p[0], p[n], p[2 * n], p[3 * n]);
                for (int r = 0; r < ROWS; r++) {
                    a[r] += before[r] ? before[r][k] * x : (float4)(0.0f);
                }
            }
            for (int r = 0; r < rows; r++) {
                const int place = group_place(r);
                if (t >= length_at(offsets, s, place)) {
                    continue;
                }
                const size_t at = token_at(offsets, s, place, t);
                global float *gate = work + at * 4 * n + j;
                global const float *last = row_before(cells, c0, offsets, s, place, t);
                const float in = sigmoid(gate[0] + a[r].x);
                const float new = tanh(gate[n] + a[r].y);
                const float forget = sigmoid(gate[2 * n] + a[r].z + 1.0f);
                const float out = sigmoid(gate[3 * n] + a[r].w);
                const float cell = forget * (last ? last[j] : 0.0f) + in * new;
                gate[0] = in;
                gate[n] = new;
                gate[2 * n] = forget;
                gate[3 * n] = out;
                cells[at * n + j] = cell;
                y[at * n + j] = out * tanh(cell);
                if (s.keep) {
                    work[s.before + at * n + j] = before[r] ? before[r][j] : 0.0f;
                }
            }
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    last_rows(h, y, h0, offsets, s, rows);
    last_rows(c, cells, c0, offsets, s, rows);
}

// gates become gradients of their sums, last token first: dh' = da w_h', dc' = dc f
WORK_GROUP(WG, 1, 1)
kernel void lstm_backward(global float *dh0, global float *dc0, global float *work,
                          global const float *dy, global const float *dh,
                          global const float *dc, global const float *c0,
                          global const float *w, global const int *offsets,
                          recurrent_shape s)
{
    const int rows = group_rows(s), n = s.width;
    global const float *cells = work + s.inner;
    global float *sums = work + s.sums + (size_t)GROUP(0) * 4 * n;
    global float *own_h = work + s.scratch + (size_t)GROUP(0) * s.stride;
    global float *own_c = own_h + ROWS * n;
    w += (size_t)s.inputs * 4 * n;
    first_rows(own_h, dh, offsets, s, rows);
    first_rows(own_c, dc, offsets, s, rows);
    clear_columns(sums, 4 * n);
    const int longest = length_at(offsets, s, group_place(0));
    for (int t = longest - 1; t >= 0; t--) {
        for (int i = LANE(0); i < rows * n; i += WG) {
            const int place = group_place(i / n), j = i % n;
            if (t >= length_at(offsets, s, place)) {
                continue;
            }
            const size_t at = token_at(offsets, s, place, t);
            global float *gate = work + at * 4 * n + j;
            global const float *before = row_before(cells, c0, offsets, s, place, t);
            const float in = gate[0], new = gate[n];
            const float forget = gate[2 * n], out = gate[3 * n];
            const float squashed = tanh(cells[at * n + j]);
            const float to_h = own_h[i] + (dy ? dy[at * n + j] : 0.0f);
            const float to_c = own_c[i] + to_h * out * (1.0f - squashed * squashed);
            own_c[i] = to_c * forget;
            gate[0] = to_c * new *in *(1.0f - in);
            gate[n] = to_c * in * (1.0f - new *new);
            gate[2 * n] = to_c * (before ? before[j] : 0.0f) * forget * (1.0f - forget);
            gate[3 * n] = to_h * squashed * out * (1.0f - out);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        add_columns(sums, work, 4 * n, offsets, s, rows, t);
        for (int i = LANE(0); i < rows * n; i += WG) {
            const int place = group_place(i / n);
            if (t < length_at(offsets, s, place)) {
                own_h[i] = dot_rows(work + token_at(offsets, s, place, t) * 4 * n,
                                    w + (size_t)(i % n) * 4 * n, 4 * n);
            }
        }
    }
    give_rows(dh0, own_h, offsets, s, rows, s.add_h);
    give_rows(dc0, own_c, offsets, s, rows, s.add_c);
}
