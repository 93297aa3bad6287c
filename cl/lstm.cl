/* lstm.cl - a long short-term memory (LSTM), some sequences to each work-group.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,4n], in the order i, g, f, o,
 * hold x w_x + b at first, after forward the activations, after backward the
 * gradients of the pre-activations.
 * Work-group: forward, a launch for each token: 64 items to a tile of 32 sequences by
 * the four gates of CELLS columns, see recurrent_step.clh; grid (tiles down, tiles
 * across, directions). Backward: WG items along the width of the state; a group goes
 * through time with its own ROWS sequences, independent of other groups, with one
 * barrier a step (and that of TOGETHER).
 * Defines: WG; ROWS; those of product_group.clh.
 * Numerics: f32 sums in the order of the inner index.
 * Writes: y, h and c whole; gradients of h0, c0 whole (added to when add_h, add_c). */
#include "recurrent_group.clh"
#include "recurrent_step.clh"

#define CELLS (TN / 4)

/* to[k][gate,cell] = row k0 + k of w, column j + cell of each gate; zeros outside */
INLINE void load_gates(local float *to, global const float *w, int k0, int j, int n)
{
#pragma unroll
    for (int at = 0; at < DEPTH * TN / 4; at += ITEMS) {
        const int e = at + LANE(0);
        const int k = e / (TN / 4), q = e % (TN / 4);
        const int gate = q / (CELLS / 4), column = j + q % (CELLS / 4) * 4;
        const bool inside = k0 + k < n && column < n;
        const size_t from = (size_t)(k0 + k) * 4 * n + gate * n + column;
        *(local float4 *)(to + k * B_STEP + 4 * q) =
            quad_at(w + (inside ? from : 0), inside ? n - column : 0);
    }
}

/* Computes element j of a token's state and cell. a holds the products h' w_h of its
 * gates, CELLS apart. */
INLINE void make_cell(global float *y, global float *work, global const float *h0,
                      global const float *c0, global const int *offsets,
                      recurrent_shape s, int place, int t, int j, local const float *a)
{
    const int n = s.width;
    const size_t at = token_at(offsets, s, place, t);
    global float *gate = work + at * 4 * n + j, *cells = work + s.inner;
    global const float *last = row_before(cells, c0, offsets, s, place, t);
    const float in = sigmoid(gate[0] + a[0]);
    const float new = tanh(gate[n] + a[CELLS]);
    const float forget = sigmoid(gate[2 * n] + a[2 * CELLS] + 1.0f);
    const float out = sigmoid(gate[3 * n] + a[3 * CELLS]);
    const float cell = forget * (last ? last[j] : 0.0f) + in * new;
    gate[0] = in;
    gate[n] = new;
    gate[2 * n] = forget;
    gate[3 * n] = out;
    cells[at * n + j] = cell;
    if (s.keep) {
        global const float *before = row_before(y, h0, offsets, s, place, t);
        work[s.before + at * n + j] = before ? before[j] : 0.0f;
    }
    y[at * n + j] = out * tanh(cell);
}

// token t, with h' and c' of token t - 1:
//   a = gates + h' w_h, c = f c' + i g, h = o tanh(c)
INLINE void make_token(local float *tiles, global float *y, global float *work,
                       global const float *h0, global const float *c0,
                       global const float *w, global const int *offsets,
                       recurrent_shape s, int t)
{
    const int n = s.width, first = GROUP(0) * TM, j = GROUP(1) * CELLS;
    const int mine = first + OWN_ROW;
    global const float *row =
        is_on(offsets, s, mine, t) ? row_before(y, h0, offsets, s, mine, t) : 0;
    sums sum;
    sums_clear(&sum);
    w += (size_t)s.inputs * 4 * n;
    for (int k = 0; TOGETHER(k < n); k += DEPTH) {
        load_states(tiles, row, k, n);
        load_gates(tiles + A_SIZE, w, k, j, n);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, tiles, tiles + A_SIZE);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    put_sums(tiles, &sum);
    for (int e = LANE(0); e < TM * CELLS; e += ITEMS) {
        const int place = first + e / CELLS, column = j + e % CELLS;
        if (column < n && is_on(offsets, s, place, t)) {
            make_cell(y, work, h0, c0, offsets, s, place, t, column,
                      tiles + e / CELLS * TN + e % CELLS);
        }
    }
}

WORK_GROUP(ITEMS, 1, 1)
kernel void lstm_forward(global float *y, global float *work, global const float *h0,
                         global const float *c0, global const float *w,
                         global const int *offsets, recurrent_shape s, int t)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    make_token(tiles, y, work, h0, c0, w, offsets, s, t);
}

// lstm_forward for both directions over the same sequences, from states of zeros; the
// second one runs in reverse to the first
WORK_GROUP(ITEMS, 1, 1)
kernel void lstm_forward_both(global float *y, global float *work,
                              global const float *w, global float *y_back,
                              global float *work_back, global const float *w_back,
                              global const int *offsets, recurrent_shape s, int t)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    const bool back = GROUP(2);
    recurrent_shape own = s; // a copy: PoCL's work-items share the argument
    own.reverse = back ? !s.reverse : s.reverse;
    make_token(tiles, back ? y_back : y, back ? work_back : work, 0, 0,
               back ? w_back : w, offsets, own, t);
}

// h and c = the final states and cells; either may be null
WORK_GROUP(WG, 1, 1)
kernel void lstm_last(global float *h, global float *c, global const float *y,
                      global const float *work, global const float *h0,
                      global const float *c0, global const int *offsets,
                      recurrent_shape s)
{
    const int rows = group_rows(s);
    last_rows(h, y, h0, offsets, s, rows);
    last_rows(c, work + s.inner, c0, offsets, s, rows);
}

// replaces gates by the gradients of their pre-activations, last token first:
//   dh' = da w_h^T, dc' = dc f
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
    for (int t = longest - 1; TOGETHER(t >= 0); t--) {
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
