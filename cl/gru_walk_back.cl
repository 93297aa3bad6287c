/* gru_walk_back.cl - the backward pass of gru_walk.cl.
 *
 * Layout: as there; gates hold the activations at first, then the gradients of the
 * pre-activations.
 * Work-group: as there.
 * Defines: WG; ROWS; BY.
 * Numerics: f32; LANES items share a sum over the gates, and their parts are added in a
 * fixed order.
 * Writes: gates and sums whole; the gradient of h0 whole (added to when add_h). */
#include "gru_walk.clh"

/* What an item carries from token to token: the gradient of its column of each state,
 * and the sum of its gates' gradients. */
typedef struct carried {
    float h[ROWS], r, u, c;
} carried;

/* Gradients of a token's pre-activations in local memory: of r and u, and of the
 * candidate; 0 behind them. */
typedef struct gradients {
    local float *g, *c; // rows of 2 WALK_WIDTH, of WALK_WIDTH
} gradients;

INLINE void tokens_get(gru_token *z, global const float *work, global const float *dy,
                       recurrent_shape s, const walker *own, int t)
{
    const int n = s.width, j = LANE(0);
    gru_gates_get(z, work, s, own, t);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (j < n && t >= 0 && t < own[r].length) {
            const size_t at = walker_row(own[r], t) * n + j;
            z[r].before = work[s.before + at];
            z[r].dy = dy ? dy[at] : 0.0f;
        }
    }
}

/* Adds the last products of the round before, which comes from token t + 1. */
INLINE void take_products(carried *to, local const float *sums, const walker *own,
                          int t, int n)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (LANE(0) < n && t + 1 < own[r].length) {
            to->h[r] += back_product_of(sums, r, LANE(0), n);
        }
    }
}

/* Computes the gradients of u and of the candidate of token t. */
INLINE void learn_candidates(carried *to, gru_token *z, recurrent_shape s,
                             const walker *own, int t, gradients d)
{
    const int n = s.width, j = LANE(0);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (j < n && t < own[r].length) {
            const float u = z[r].u, c = z[r].c, to_h = to->h[r] + z[r].dy;
            to->h[r] = to_h * u;
            z[r].u = to_h * (z[r].before - c) * u * (1.0f - u);
            z[r].c = to_h * (1.0f - u) * (1.0f - c * c);
            d.g[r * 2 * WALK_WIDTH + n + j] = z[r].u;
            d.c[r * WALK_WIDTH + j] = z[r].c;
        }
    }
}

/* Computes the gradient of r of token t from the products, and stores all three. */
INLINE void learn_gates(carried *to, const gru_token *z, global float *work,
                        recurrent_shape s, const walker *own, int t, gradients d,
                        local const float *sums)
{
    const int n = s.width, j = LANE(0);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (j < n && t < own[r].length) {
            global float *gate = work + walker_row(own[r], t) * 3 * n + j;
            const float of_reset = back_product_of(sums, r, j, n), open = z[r].r;
            const float dr = of_reset * z[r].before * open * (1.0f - open);
            to->h[r] += of_reset * open;
            d.g[r * 2 * WALK_WIDTH + j] = dr;
            gate[0] = dr;
            gate[n] = z[r].u;
            gate[2 * n] = z[r].c;
            to->r += dr;
            to->u += z[r].u;
            to->c += z[r].c;
        }
    }
}

INLINE void clear_gradients(gradients d)
{
    for (int i = LANE(0); i < ROWS * 2 * WALK_WIDTH; i += WG) {
        d.g[i] = 0.0f;
    }
    for (int i = LANE(0); i < ROWS * WALK_WIDTH; i += WG) {
        d.c[i] = 0.0f;
    }
}

// replaces gates by the gradients of their pre-activations, last token first:
//   dh' = u dh + r d + (dr, du) w_g^T, d = dc w_c^T
WORK_GROUP(WG, 1, 1)
kernel void gru_walk_back(global float *dh0, global float *work, global const float *dy,
                          global const float *dh, global const float *w_g,
                          global const float *w_c, global const int *offsets,
                          recurrent_shape s)
{
    local float of_gates[ROWS * 2 * WALK_WIDTH] __attribute__((aligned(16)));
    local float of_candidate[ROWS * WALK_WIDTH] __attribute__((aligned(16)));
    local float sums[ROWS * LANES * WALK_WIDTH] __attribute__((aligned(16)));
    const gradients d = { of_gates, of_candidate };
    const int n = s.width;
    walker own[ROWS];
    gru_token z[ROWS];
    carried to;
    walkers_get(own, offsets, s);
    w_g += (size_t)s.inputs * 2 * n;
    w_c += (size_t)s.inputs * n;
    clear_gradients(d);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        to.h[r] = walker_start(dh, own[r], n);
    }
    to.r = to.u = to.c = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    tokens_get(z, work, dy, s, own, own[0].length - 1);
    for (int t = own[0].length - 1; TOGETHER(t >= 0); t--) {
        take_products(&to, sums, own, t, n);
        learn_candidates(&to, z, s, own, t, d);
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply_back(sums, d.c, WALK_WIDTH, w_c, n, n, BY);
        barrier(CLK_LOCAL_MEM_FENCE);
        learn_gates(&to, z, work, s, own, t, d, sums);
        barrier(CLK_LOCAL_MEM_FENCE);
        tokens_get(z, work, dy, s, own, t - 1); // the product hides the wait
        multiply_back(sums, d.g, 2 * WALK_WIDTH, w_g, n, 2 * n, BY_GATES);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    take_products(&to, sums, own, -1, n);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        walker_give(dh0, own[r], to.h[r], n, s.add_h);
    }
    if (LANE(0) < n) {
        global float *total = work + s.sums + (size_t)GROUP(0) * 3 * n + LANE(0);
        total[0] = to.r;
        total[n] = to.u;
        total[2 * n] = to.c;
    }
}
