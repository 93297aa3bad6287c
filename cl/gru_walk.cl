/* gru_walk.cl - a gated recurrent unit (GRU) of at most WALK_WIDTH columns, in one
 * launch for all tokens; gru_walk_back.cl has the backward pass.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,3n], in the order r, u,
 * candidate, hold x w_x + b at first, then the activations.
 * Work-group: WG items, see recurrent_walk.clh; a group goes through time with its own
 * ROWS sequences, independent of other groups, with four barriers a step; grid
 * (groups).
 * Defines: WG; ROWS; BY.
 * Numerics: f32; the inner index of a product is cut into parts, which are added in
 * order.
 * Writes: y and h whole. */
#include "gru_walk.clh"

/* Computes r and u of token t, whose pre-activations but for the product are in gates,
 * and r h' in local memory. */
INLINE void make_gates(gru_token *gates, global float *work, recurrent_shape s,
                       const walker *own, int t, local float *reset,
                       local const float *state, local const float *sums)
{
    const int n = s.width, j = LANE(0);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (j < n && t < own[r].length) {
            const size_t at = walker_row(own[r], t);
            global float *gate = work + at * 3 * n + j;
            const float last = state[r * WALK_WIDTH + j];
            gates[r].r = sigmoid(gates[r].r + product_of(sums, r, j, 2 * n));
            gates[r].u = sigmoid(gates[r].u + product_of(sums, r, n + j, 2 * n));
            gate[0] = gates[r].r;
            gate[n] = gates[r].u;
            reset[r * WALK_WIDTH + j] = gates[r].r * last;
            work[s.inner + at * n + j] = gates[r].r * last;
            if (s.keep) {
                work[s.before + at * n + j] = last;
            }
        }
    }
}

/* Computes the candidate and the state of token t. */
INLINE void make_states(const gru_token *gates, global float *y, global float *work,
                        recurrent_shape s, const walker *own, int t, local float *state,
                        local const float *sums)
{
    const int n = s.width, j = LANE(0);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (j < n && t < own[r].length) {
            const size_t at = walker_row(own[r], t);
            local float *last = state + r * WALK_WIDTH + j;
            const float u = gates[r].u;
            const float c = tanh(gates[r].c + product_of(sums, r, j, n));
            *last = u * *last + (1.0f - u) * c;
            work[at * 3 * n + 2 * n + j] = c;
            y[at * n + j] = *last;
        }
    }
}

// for each token:
//   r, u = sigmoid(gates + h' w_g), h = u h' + (1 - u) tanh(gates + (r h') w_c)
WORK_GROUP(WG, 1, 1)
kernel void gru_walk(global float *y, global float *h, global float *work,
                     global const float *h0, global const float *w_g,
                     global const float *w_c, global const int *offsets,
                     recurrent_shape s)
{
    local float state[ROWS * WALK_WIDTH] __attribute__((aligned(16)));
    local float reset[ROWS * WALK_WIDTH] __attribute__((aligned(16)));
    local float sums[ROWS * 4 * WG] __attribute__((aligned(16)));
    const int n = s.width, j = LANE(0);
    walker own[ROWS];
    walkers_get(own, offsets, s);
    w_g += (size_t)s.inputs * 2 * n;
    w_c += (size_t)s.inputs * n;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (j < n) {
            state[r * WALK_WIDTH + j] = walker_start(h0, own[r], n);
            reset[r * WALK_WIDTH + j] = 0.0f; // for sequences that are over
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = 0; TOGETHER(t < own[0].length); t++) { // the first one is the longest
        gru_token gates[ROWS];
        gru_gates_get(gates, work, s, own, t); // the product hides the wait
        multiply_states(sums, state, w_g, n, 2 * n, BY_GATES);
        barrier(CLK_LOCAL_MEM_FENCE);
        make_gates(gates, work, s, own, t, reset, state, sums);
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply_states(sums, reset, w_c, n, n, BY);
        barrier(CLK_LOCAL_MEM_FENCE);
        make_states(gates, y, work, s, own, t, state, sums);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        walker_give(h, own[r], j < n ? state[r * WALK_WIDTH + j] : 0.0f, n, 0);
    }
}
