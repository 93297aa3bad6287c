/* lstm_walk_back.cl - the backward pass of lstm_walk.cl.
 *
 * Layout: as there; gates hold the activations at first, then the gradients of the
 * pre-activations.
 * Work-group: as there; grid (groups).
 * Defines: WG; ROWS.
 * Numerics: f32; LANES items share a sum over the gates, and their parts are added in a
 * fixed order.
 * Writes: gates and sums whole; gradients of h0, c0 whole (added to when add_h,
 * add_c). */
#include "lstm_walk.clh"

/* Column j of a token: gates, cells and the gradient of its state. */
typedef struct token {
    float4 gates;
    float cell, before, dy; // before: the cell of the token before
} token;

INLINE token token_get(global const float *work, global const float *dy,
                       global const float *c0, recurrent_shape s, walker own, int t,
                       int j)
{
    const int n = s.width;
    const size_t at = walker_row(own, t);
    global const float *cells = work + s.inner + j;
    token z;
    z.gates = gates_at(work + at * 4 * n + j, n);
    z.cell = cells[at * n];
    z.before = t > 0 ? cells[walker_row(own, t - 1) * n] : walker_start(c0, own, n);
    z.dy = dy ? dy[at * n + j] : 0.0f;
    return z;
}

/* Returns the gradients of a token's pre-activations, and turns to_c, the gradient of
 * its cell, into that of the cell before. */
INLINE float4 gates_back(token z, float to_h, float *to_c)
{
    const float in = z.gates.x, new = z.gates.y, forget = z.gates.z, out = z.gates.w;
    const float squashed = tanh(z.cell);
    const float c = *to_c + to_h * out * (1.0f - squashed * squashed);
    *to_c = c * forget;
    return (float4)(c * new *in *(1.0f - in), c * in * (1.0f - new *new),
                    c * z.before * forget * (1.0f - forget),
                    to_h * squashed * out * (1.0f - out));
}

/* What an item carries from token to token: gradients of its column of the state and of
 * the cell of each sequence, and the sum of its gates' gradients. */
typedef struct carried {
    float h[ROWS], c[ROWS];
    float4 total;
} carried;

/* Takes the products of the last round, which come from token t + 1. Reading them at
 * the end of that round instead makes PoCL 3.1 lose them. */
INLINE void take_products(carried *to, local const float *sums, const walker *own,
                          int t, int n)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (LANE(0) < n && t + 1 < own[r].length) {
            to->h[r] = back_product_of(sums, r, LANE(0), n);
        }
    }
}

/* Reads token t of each sequence that has one. */
INLINE void tokens_get(token *z, global const float *work, global const float *dy,
                       global const float *c0, recurrent_shape s, const walker *own,
                       int t)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (LANE(0) < s.width && t >= 0 && t < own[r].length) {
            z[r] = token_get(work, dy, c0, s, own[r], t, LANE(0));
        }
    }
}

/* Replaces gates of token t, which z holds, by gradients, and stores these in d. */
INLINE void learn_cells(carried *to, const token *z, global float *work,
                        recurrent_shape s, const walker *own, int t, local float *d)
{
    const int n = s.width, j = LANE(0);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (j < n && t < own[r].length) {
            const float4 a = gates_back(z[r], to->h[r] + z[r].dy, &to->c[r]);
            local float *row = d + r * 4 * WALK_WIDTH + j;
            row[0] = a.x;
            row[n] = a.y;
            row[2 * n] = a.z;
            row[3 * n] = a.w;
            gates_put(work + walker_row(own[r], t) * 4 * n + j, a, n);
            to->total += a;
        }
    }
}

// replaces gates by the gradients of their pre-activations, last token first:
//   dh' = da w_h^T, dc' = dc f
WORK_GROUP(WG, 1, 1)
kernel void lstm_walk_back(global float *dh0, global float *dc0, global float *work,
                           global const float *dy, global const float *dh,
                           global const float *dc, global const float *c0,
                           global const float *w, global const int *offsets,
                           recurrent_shape s)
{
    local float d[ROWS * 4 * WALK_WIDTH] __attribute__((aligned(16)));
    local float sums[ROWS * LANES * WALK_WIDTH] __attribute__((aligned(16)));
    const int n = s.width;
    walker own[ROWS];
    carried to;
    token z[ROWS];
    walkers_get(own, offsets, s);
    w += (size_t)s.inputs * 4 * n;
    for (int i = LANE(0); i < ROWS * 4 * WALK_WIDTH; i += WG) {
        d[i] = 0.0f; // for sequences that begin later
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        to.h[r] = walker_start(dh, own[r], n);
        to.c[r] = walker_start(dc, own[r], n);
    }
    to.total = (float4)(0.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    tokens_get(z, work, dy, c0, s, own, own[0].length - 1);
    for (int t = own[0].length - 1; TOGETHER(t >= 0); t--) {
        take_products(&to, sums, own, t, n);
        learn_cells(&to, z, work, s, own, t, d);
        barrier(CLK_LOCAL_MEM_FENCE);
        tokens_get(z, work, dy, c0, s, own, t - 1); // the product hides the wait
        multiply_back(sums, d, 4 * WALK_WIDTH, w, n, 4 * n, 4);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    take_products(&to, sums, own, -1, n);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        walker_give(dh0, own[r], to.h[r], n, s.add_h);
        walker_give(dc0, own[r], to.c[r], n, s.add_c);
    }
    if (LANE(0) < n) {
        gates_put(work + s.sums + (size_t)GROUP(0) * 4 * n + LANE(0), to.total, n);
    }
}
