/* gru.cl - a gated recurrent unit (GRU), two launches for each token.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,3n], in the order r, u,
 * candidate, hold x w_x + b at first, after forward the activations, after
 * backward the gradients of the pre-activations. scratch [B,n], by place: gradients of
 * states.
 * Work-group: see recurrent_step.clh; grid (tiles down, tiles across). gru_last: WG
 * items along the width of the state of ROWS sequences.
 * Defines: WG; ROWS; those of recurrent_step.clh.
 * Numerics: f32 sums in the order of the inner index, of each team and then over teams.
 * Writes: y and h whole; the gradient of h0 whole (added to when add_h). */
#include "recurrent_group.clh"
#include "recurrent_step.clh"

/* Puts the sums of rows w, columns j .. of w [n,columns], into tiles; row is the row
 * that this item loads (null: zeros). Ends with a barrier. */
INLINE void multiply_rows(local float *tiles, global const float *row,
                          global const float *w, int n, int columns, int j)
{
    const matrix weights = matrix_of(w, columns, n, columns);
    local float *own = tiles + OWN_TEAM * TEAM_TILES;
    sums sum;
    sums_clear(&sum);
    for (int first = 0; TOGETHER(first < n); first += STEP_DEPTH) {
        const int k = first + OWN_TEAM * DEPTH;
        load_states(own, row, k, n);
        load_straight(own + A_SIZE, TN, weights, k, j);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, own, own + A_SIZE);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    put_sums(tiles, &sum);
}

// token t, with h' the state of token t - 1: r, u = sigmoid(gates + h' w_g), and r h'
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void gru_gates(global const float *y, global float *work, global const float *h0,
                      global const float *w_g, global const int *offsets,
                      recurrent_shape s, int t)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    const int n = s.width, first = GROUP(0) * TM, j = GROUP(1) * TN;
    const int mine = first + OWN_ROW;
    global const float *row =
        is_on(offsets, s, mine, t) ? row_before(y, h0, offsets, s, mine, t) : 0;
    multiply_rows(tiles, row, w_g + (size_t)s.inputs * 2 * n, n, 2 * n, j);
    for (int e = GROUP_ITEM; e < TM * TN; e += GROUP_ITEMS) {
        const int place = first + e / TN, column = j + e % TN;
        if (column < 2 * n && is_on(offsets, s, place, t)) {
            const size_t at = token_at(offsets, s, place, t);
            global float *gate = work + at * 3 * n + column;
            global const float *before = row_before(y, h0, offsets, s, place, t);
            const float z = sigmoid(*gate + sum_of(tiles, e));
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
WORK_GROUP(ITEMS, TEAMS, 1)
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
    multiply_rows(tiles, row, w_c + (size_t)s.inputs * n, n, n, j);
    for (int e = GROUP_ITEM; e < TM * TN; e += GROUP_ITEMS) {
        const int place = first + e / TN, column = j + e % TN;
        if (column < n && is_on(offsets, s, place, t)) {
            const size_t at = token_at(offsets, s, place, t);
            global float *gate = work + at * 3 * n + column;
            global const float *last = row_before(y, h0, offsets, s, place, t);
            const float u = gate[n], candidate = tanh(gate[2 * n] + sum_of(tiles, e));
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

/* Puts (dr, du) w_g' of token t + 1 into tiles. Ends with a barrier. */
INLINE void multiply_later(local float *tiles, global const float *work,
                           global const float *w_g, global const int *offsets,
                           recurrent_shape s, int t)
{
    const int n = s.width, mine = GROUP(0) * TM + OWN_ROW;
    global const float *row = is_on(offsets, s, mine, t + 1)
                                  ? work + token_at(offsets, s, mine, t + 1) * 3 * n
                                  : 0;
    multiply_turned(tiles, row, w_g + (size_t)s.inputs * 2 * n, n, 2 * n,
                    GROUP(1) * TN);
}

/* Returns the gradient of a place's state after token t in column j, without that of y:
 * from token t + 1, of which product is (dr, du) w_g', or from that of the final
 * state. */
INLINE float handed_to(float product, global const float *work, global const float *dh,
                       global const int *offsets, recurrent_shape s, int place, int t,
                       int j)
{
    return t + 1 < length_at(offsets, s, place)
               ? work[s.scratch + (size_t)place * s.width + j] + product
               : element_of(dh, sequence_at(offsets, s, place), j, s.width);
}

// token t, after gru_back_reset of token t + 1: replaces u and the candidate by the
// gradients of their pre-activations, and begins that of the state before:
//   dh' = u dh
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void gru_backward(global float *work, global const float *dy,
                         global const float *dh, global const float *w_g,
                         global const int *offsets, recurrent_shape s, int t)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    const int n = s.width;
    multiply_later(tiles, work, w_g, offsets, s, t);
    for (int e = GROUP_ITEM; e < TM * TN; e += GROUP_ITEMS) {
        const int place = GROUP(0) * TM + e / TN, j = GROUP(1) * TN + e % TN;
        if (j < n && is_on(offsets, s, place, t)) {
            const size_t at = token_at(offsets, s, place, t);
            global float *gate = work + at * 3 * n + j;
            const float u = gate[n], c = gate[2 * n];
            const float last = work[s.before + at * n + j];
            const float to_h =
                handed_to(sum_of(tiles, e), work, dh, offsets, s, place, t, j) +
                (dy ? dy[at * n + j] : 0.0f);
            work[s.scratch + (size_t)place * n + j] = to_h * u;
            gate[n] = to_h * (last - c) * u * (1.0f - u);
            gate[2 * n] = to_h * (1.0f - u) * (1.0f - c * c);
        }
    }
}

// token t, after gru_backward: replaces r by the gradient of its pre-activation, and
// goes on with that of the state before:
//   d = dc w_c^T, dh' += r d
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void gru_back_reset(global float *work, global const float *w_c,
                           global const int *offsets, recurrent_shape s, int t)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    const int n = s.width, mine = GROUP(0) * TM + OWN_ROW;
    global const float *row =
        is_on(offsets, s, mine, t)
            ? work + token_at(offsets, s, mine, t) * 3 * n + 2 * (size_t)n
            : 0;
    multiply_turned(tiles, row, w_c + (size_t)s.inputs * n, n, n, GROUP(1) * TN);
    for (int e = GROUP_ITEM; e < TM * TN; e += GROUP_ITEMS) {
        const int place = GROUP(0) * TM + e / TN, j = GROUP(1) * TN + e % TN;
        if (j < n && is_on(offsets, s, place, t)) {
            const size_t at = token_at(offsets, s, place, t);
            global float *gate = work + at * 3 * n + j;
            const float d = sum_of(tiles, e), r = *gate;
            work[s.scratch + (size_t)place * n + j] += d * r;
            *gate = d * work[s.before + at * n + j] * r * (1.0f - r);
        }
    }
}

// gives the first states their gradients, after gru_back_reset of token 0
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void gru_back_start(global float *dh0, global const float *work,
                           global const float *dh, global const float *w_g,
                           global const int *offsets, recurrent_shape s)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    const int n = s.width;
    multiply_later(tiles, work, w_g, offsets, s, -1);
    for (int e = GROUP_ITEM; e < TM * TN; e += GROUP_ITEMS) {
        const int place = GROUP(0) * TM + e / TN, j = GROUP(1) * TN + e % TN;
        if (j < n && place < s.sequences) {
            const float z =
                handed_to(sum_of(tiles, e), work, dh, offsets, s, place, -1, j);
            const size_t at = (size_t)sequence_at(offsets, s, place) * n + j;
            dh0[at] = s.add_h ? dh0[at] + z : z;
        }
    }
}
