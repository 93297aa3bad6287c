/* gru.cl - a gated recurrent unit (GRU), some sequences to each work-group.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,3n], in the order r, u,
 * candidate, hold x w_x + b at first, after forward the activations, after
 * backward the gradients of the pre-activations.
 * Work-group: forward, two launches for each token: 64 items to a tile of 32 sequences
 * by 64 columns, see recurrent_step.clh; grid (tiles down, tiles across). Backward: WG
 * items along the width of the state; a group goes through time with its own ROWS
 * sequences, independent of other groups.
 * Defines: WG; ROWS; those of product_group.clh.
 * Numerics: f32 sums in the order of the inner index.
 * Writes: y and h whole; the gradient of h0 whole (added to when add_h). */
#include "recurrent_group.clh"
#include "recurrent_step.clh"

/* Computes sum = rows w, columns j .. of w [n,columns]; row is the row that this item
 * loads (null: zeros). Ends with a barrier. */
INLINE void multiply_rows(sums *sum, global const float *row, global const float *w,
                          int n, int columns, int j, local float *tiles)
{
    const matrix weights = matrix_of(w, columns, n, columns);
    sums_clear(sum);
    for (int k = 0; TOGETHER(k < n); k += DEPTH) {
        load_states(tiles, row, k, n);
        load_straight(tiles + A_SIZE, TN, weights, k, j);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(sum, tiles, tiles + A_SIZE);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// token t, with h' the state of token t - 1: r, u = sigmoid(gates + h' w_g), and r h'
WORK_GROUP(ITEMS, 1, 1)
kernel void gru_gates(global const float *y, global float *work, global const float *h0,
                      global const float *w_g, global const int *offsets,
                      recurrent_shape s, int t)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    const int n = s.width, first = GROUP(0) * TM, j = GROUP(1) * TN;
    const int mine = first + OWN_ROW;
    global const float *row =
        is_on(offsets, s, mine, t) ? row_before(y, h0, offsets, s, mine, t) : 0;
    sums sum;
    multiply_rows(&sum, row, w_g + (size_t)s.inputs * 2 * n, n, 2 * n, j, tiles);
    put_sums(tiles, &sum);
    for (int e = LANE(0); e < TM * TN; e += ITEMS) {
        const int place = first + e / TN, column = j + e % TN;
        if (column < 2 * n && is_on(offsets, s, place, t)) {
            const size_t at = token_at(offsets, s, place, t);
            global float *gate = work + at * 3 * n + column;
            global const float *before = row_before(y, h0, offsets, s, place, t);
            const float z = sigmoid(*gate + tiles[e]);
            *gate = z;
            if (column < n) {
                const float last = before ? before[column] : 0.0f;
                work[s.inner + at * n + column] = z * last;
                if (s.keep) {
                    work[s.before + at * n + column] = last;
                }
            }
        }
    }
}

// token t, after gru_gates: h = u h' + (1 - u) tanh(gates + (r h') w_c)
WORK_GROUP(ITEMS, 1, 1)
kernel void gru_forward(global float *y, global float *work, global const float *h0,
                        global const float *w_c, global const int *offsets,
                        recurrent_shape s, int t)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    const int n = s.width, first = GROUP(0) * TM, j = GROUP(1) * TN;
    const int mine = first + OWN_ROW;
    global const float *row = is_on(offsets, s, mine, t)
                                  ? work + s.inner + token_at(offsets, s, mine, t) * n
                                  : 0;
    sums sum;
    multiply_rows(&sum, row, w_c + (size_t)s.inputs * n, n, n, j, tiles);
    put_sums(tiles, &sum);
    for (int e = LANE(0); e < TM * TN; e += ITEMS) {
        const int place = first + e / TN, column = j + e % TN;
        if (column < n && is_on(offsets, s, place, t)) {
            const size_t at = token_at(offsets, s, place, t);
            global float *gate = work + at * 3 * n + column;
            global const float *last = row_before(y, h0, offsets, s, place, t);
            const float u = gate[n], candidate = tanh(gate[2 * n] + tiles[e]);
            gate[2 * n] = candidate;
            y[at * n + column] =
                u * (last ? last[column] : 0.0f) + (1.0f - u) * candidate;
        }
    }
}

// h = the final states
WORK_GROUP(WG, 1, 1)
kernel void gru_last(global float *h, global const float *y, global const float *h0,
                     global const int *offsets, recurrent_shape s)
{
    last_rows(h, y, h0, offsets, s, group_rows(s));
}

// replaces gates by the gradients of their pre-activations, last token first:
//   dh' = u dh + r d + (dr, du) w_g^T, d = dc w_c^T
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
    for (int t = longest - 1; TOGETHER(t >= 0); t--) {
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
