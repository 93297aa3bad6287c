/* lstm.cl - a long short-term memory (LSTM), a launch for each token.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,4n], in the order i, g, f, o,
 * hold x w_x + b at first, after forward the activations, after backward the
 * gradients of the pre-activations. scratch [B,n], by place: gradients of cells.
 * Work-group: see recurrent_step.clh. Forward, a tile is the four gates of CELLS
 * columns; grid (tiles down, tiles across, directions). Backward, the tile's columns
 * are those of the state; grid (tiles down, tiles across). lstm_last: WG items along
 * the width of the state of ROWS sequences.
 * Defines: WG; ROWS; those of recurrent_step.clh.
 * Numerics: f32 sums in the order of the inner index, of each team and then over teams.
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

/* Returns the product h' w_h of each gate of the cell that is number e of the tile. */
INLINE float4 gates_of(local const float *sums, int e)
{
    const int at = e / CELLS * TN + e % CELLS;
    return (float4)(sum_of(sums, at), sum_of(sums, at + CELLS),
                    sum_of(sums, at + 2 * CELLS), sum_of(sums, at + 3 * CELLS));
}

/* Computes element j of a token's state and cell. a are the products h' w_h of its
 * gates. */
INLINE void make_cell(global float *y, global float *work, global const float *h0,
                      global const float *c0, global const int *offsets,
                      recurrent_shape s, int place, int t, int j, float4 a)
{
    const int n = s.width;
    const size_t at = token_at(offsets, s, place, t);
    global float *gate = work + at * 4 * n + j, *cells = work + s.inner;
    global const float *last = row_before(cells, c0, offsets, s, place, t);
    const float in = sigmoid(gate[0] + a.x);
    const float new = tanh(gate[n] + a.y);
    const float forget = sigmoid(gate[2 * n] + a.z + 1.0f);
    const float out = sigmoid(gate[3 * n] + a.w);
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
    local float *own = tiles + OWN_TEAM * TEAM_TILES;
    sums sum;
    sums_clear(&sum);
    w += (size_t)s.inputs * 4 * n;
    for (int k0 = 0; TOGETHER(k0 < n); k0 += STEP_DEPTH) {
        const int k = k0 + OWN_TEAM * DEPTH;
        load_states(own, row, k, n);
        load_gates(own + A_SIZE, w, k, j, n);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, own, own + A_SIZE);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    put_sums(tiles, &sum);
    for (int e = GROUP_ITEM; e < TM * CELLS; e += GROUP_ITEMS) {
        const int place = first + e / CELLS, column = j + e % CELLS;
        if (column < n && is_on(offsets, s, place, t)) {
            make_cell(y, work, h0, c0, offsets, s, place, t, column,
                      gates_of(tiles, e));
        }
    }
}

WORK_GROUP(ITEMS, TEAMS, 1)
kernel void lstm_forward(global float *y, global float *work, global const float *h0,
                         global const float *c0, global const float *w,
                         global const int *offsets, recurrent_shape s, int t)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    make_token(tiles, y, work, h0, c0, w, offsets, s, t);
}

// lstm_forward for both directions over the same sequences, from states of zeros; the
// second one runs in reverse to the first
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void lstm_both_forward(global float *y, global float *work,
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

/* A place's numbers in column j that a later token hands down: the gradients of its
 * state and of its cell. */
typedef struct handed {
    float h, c;
} handed;

/* Returns what token t gets: from token t + 1, of which product is da w_h', or from the
 * gradients of the final states. */
INLINE handed handed_to(float product, global const float *work, global const float *dh,
                        global const float *dc, global const int *offsets,
                        recurrent_shape s, int place, int t, int j)
{
    const int n = s.width, b = sequence_at(offsets, s, place);
    const bool later = t + 1 < length_at(offsets, s, place);
    handed z;
    z.h = later ? product : element_of(dh, b, j, n);
    z.c = later ? work[s.scratch + (size_t)place * n + j] : element_of(dc, b, j, n);
    return z;
}

/* Replaces the gates of token t in column j by gradients, and stores that of the cell
 * before. */
INLINE void learn_cell(handed z, global float *work, global const float *dy,
                       global const float *c0, global const int *offsets,
                       recurrent_shape s, int place, int t, int j)
{
    const int n = s.width;
    const size_t at = token_at(offsets, s, place, t);
    global float *gate = work + at * 4 * n + j;
    global const float *cells = work + s.inner;
    global const float *before = row_before(cells, c0, offsets, s, place, t);
    const float in = gate[0], new = gate[n], forget = gate[2 * n], out = gate[3 * n];
    const float squashed = tanh(cells[at * n + j]);
    const float to_h = z.h + (dy ? dy[at * n + j] : 0.0f);
    const float to_c = z.c + to_h * out * (1.0f - squashed * squashed);
    work[s.scratch + (size_t)place * n + j] = to_c * forget;
    gate[0] = to_c * new *in *(1.0f - in);
    gate[n] = to_c * in * (1.0f - new *new);
    gate[2 * n] = to_c * (before ? before[j] : 0.0f) * forget * (1.0f - forget);
    gate[3 * n] = to_h * squashed * out * (1.0f - out);
}

/* Puts da w_h' of token t + 1 into tiles. Ends with a barrier. */
INLINE void multiply_later(local float *tiles, global const float *work,
                           global const float *w, global const int *offsets,
                           recurrent_shape s, int t)
{
    const int n = s.width, mine = GROUP(0) * TM + OWN_ROW;
    global const float *row = is_on(offsets, s, mine, t + 1)
                                  ? work + token_at(offsets, s, mine, t + 1) * 4 * n
                                  : 0;
    multiply_turned(tiles, row, w + (size_t)s.inputs * 4 * n, n, 4 * n, GROUP(1) * TN);
}

// replaces the gates of token t by the gradients of their pre-activations, after those
// of token t + 1:
//   dh' = da w_h^T, dc' = dc f
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void lstm_backward(global float *work, global const float *dy,
                          global const float *dh, global const float *dc,
                          global const float *c0, global const float *w,
                          global const int *offsets, recurrent_shape s, int t)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    multiply_later(tiles, work, w, offsets, s, t);
    for (int e = GROUP_ITEM; e < TM * TN; e += GROUP_ITEMS) {
        const int place = GROUP(0) * TM + e / TN, j = GROUP(1) * TN + e % TN;
        if (j < s.width && is_on(offsets, s, place, t)) {
            const handed z =
                handed_to(sum_of(tiles, e), work, dh, dc, offsets, s, place, t, j);
            learn_cell(z, work, dy, c0, offsets, s, place, t, j);
        }
    }
}

// gives the first states their gradients, after lstm_backward of token 0; dh0 and dc0
// may be null
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void lstm_back_start(global float *dh0, global float *dc0,
                            global const float *work, global const float *dh,
                            global const float *dc, global const float *w,
                            global const int *offsets, recurrent_shape s)
{
    local float tiles[STEP_TILES] __attribute__((aligned(16)));
    const int n = s.width;
    multiply_later(tiles, work, w, offsets, s, -1);
    for (int e = GROUP_ITEM; e < TM * TN; e += GROUP_ITEMS) {
        const int place = GROUP(0) * TM + e / TN, j = GROUP(1) * TN + e % TN;
        if (j < n && place < s.sequences) {
            const handed z =
                handed_to(sum_of(tiles, e), work, dh, dc, offsets, s, place, -1, j);
            const size_t at = (size_t)sequence_at(offsets, s, place) * n + j;
            if (dh0) {
                dh0[at] = s.add_h ? dh0[at] + z.h : z.h;
            }
            if (dc0) {
                dc0[at] = s.add_c ? dc0[at] + z.c : z.c;
            }
        }
    }
}
