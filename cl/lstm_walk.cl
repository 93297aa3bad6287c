/* lstm_walk.cl - a long short-term memory (LSTM) of at most WALK_WIDTH columns, in one
 * launch for all tokens; lstm_walk_back.cl has the backward pass.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,4n], in the order i, g, f, o,
 * hold x w_x + b at first, then the activations.
 * Work-group: WG items, see recurrent_walk.clh; a group goes through time with its own
 * ROWS sequences, independent of other groups, with two barriers a step; grid (groups,
 * directions).
 * Defines: WG; ROWS.
 * Numerics: f32; the inner index of a product is cut into parts, which are added in
 * order.
 * Writes: y, h and c whole. */
#include "lstm_walk.clh"

/* Floats of local memory: states, then sums. */
#define SPACE (ROWS * (WALK_WIDTH + 4 * WG))

/* Returns the product of a row's state with the weights of the gates of column j. */
INLINE float4 product_of_gates(local const float *sums, int row, int j, int n)
{
    return (float4)(product_of(sums, row, j, 4 * n),
                    product_of(sums, row, n + j, 4 * n),
                    product_of(sums, row, 2 * n + j, 4 * n),
                    product_of(sums, row, 3 * n + j, 4 * n));
}

/* Computes column j of a token: stores its gates and cell, and returns its state. a are
 * its pre-activations; last is h' before. */
INLINE float make_cell(global float *y, global float *work, recurrent_shape s,
                       size_t at, int j, float4 a, float last, float *cell)
{
    const int n = s.width;
    const float in = sigmoid(a.x), new = tanh(a.y);
    const float forget = sigmoid(a.z + 1.0f), out = sigmoid(a.w);
    *cell = forget * *cell + in * new;
    gates_put(work + at * 4 * n + j, (float4)(in, new, forget, out), n);
    work[s.inner + at * n + j] = *cell;
    if (s.keep) {
        work[s.before + at * n + j] = last;
    }
    const float state = out * tanh(*cell);
    y[at * n + j] = state;
    return state;
}

/* Computes a token of each of the group's sequences from the products of its state and
 * the gates, which were read before them to hide the wait. */
INLINE void make_cells(global float *y, global float *work, recurrent_shape s,
                       const walker *own, int t, const float4 *gates,
                       local float *state, local const float *sums, float *cell)
{
    const int n = s.width, j = LANE(0);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (j < n && t < own[r].length) {
            local float *last = state + r * WALK_WIDTH + j;
            const float4 a = gates[r] + product_of_gates(sums, r, j, n);
            *last = make_cell(y, work, s, walker_row(own[r], t), j, a, *last, &cell[r]);
        }
    }
}

// for each token:
//   a = gates + h' w_h, c = f c' + i g, h = o tanh(c)
INLINE void walk(global float *y, global float *h, global float *c, global float *work,
                 global const float *h0, global const float *c0, global const float *w,
                 global const int *offsets, recurrent_shape s, local float *state)
{
    const int n = s.width, j = LANE(0);
    local float *sums = state + ROWS * WALK_WIDTH;
    walker own[ROWS];
    float cell[ROWS];
    walkers_get(own, offsets, s);
    w += (size_t)s.inputs * 4 * n;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        cell[r] = walker_start(c0, own[r], n);
        if (j < n) {
            state[r * WALK_WIDTH + j] = walker_start(h0, own[r], n);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = 0; TOGETHER(t < own[0].length); t++) { // the first one is the longest
        float4 gates[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const bool on = j < n && t < own[r].length;
            gates[r] = on ? gates_at(work + walker_row(own[r], t) * 4 * n + j, n)
                          : (float4)(0.0f);
        }
        multiply_states(sums, state, w, n, 4 * n, 4);
        barrier(CLK_LOCAL_MEM_FENCE);
        make_cells(y, work, s, own, t, gates, state, sums, cell);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        walker_give(h, own[r], j < n ? state[r * WALK_WIDTH + j] : 0.0f, n, 0);
        walker_give(c, own[r], cell[r], n, 0);
    }
}

// h and c = the final states and cells; either may be null
WORK_GROUP(WG, 1, 1)
kernel void lstm_walk(global float *y, global float *h, global float *c,
                      global float *work, global const float *h0,
                      global const float *c0, global const float *w,
                      global const int *offsets, recurrent_shape s)
{
    local float space[SPACE] __attribute__((aligned(16)));
    walk(y, h, c, work, h0, c0, w, offsets, s, space);
}

// lstm_walk for both directions over the same sequences, from states of zeros; the
// second one runs in reverse to the first
WORK_GROUP(WG, 1, 1)
kernel void lstm_walk_both(global float *y, global float *work, global const float *w,
                           global float *y_back, global float *work_back,
                           global const float *w_back, global const int *offsets,
                           recurrent_shape s)
{
    local float space[SPACE] __attribute__((aligned(16)));
    const bool back = GROUP(1);
    recurrent_shape own = s; // a copy: PoCL's work-items share the argument
    own.reverse = back ? !s.reverse : s.reverse;
    walk(back ? y_back : y, 0, 0, back ? work_back : work, 0, 0, back ? w_back : w,
         offsets, own, space);
}
