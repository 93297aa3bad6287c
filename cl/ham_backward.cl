/* ham_backward.cl - back through attention that is repeated, for GPUs.
 *
 * Layout: as ham.clh.
 * Work-group: 8 x 8 items to 32 rows, see rows_group.clh; grid (runs of 32 rows of the
 *   longest sequence, B).
 * Defines: none.
 * Numerics: weights are made again from lse; f32 sums in the order of the inner index.
 * Writes: gradients of the levels that are its own, and at the end of the way as mode
 *   says; delta, partial whole. */
#include "ham.clh"
#include "rows_group.clh"

/* What of a tile's queries and keys goes back: weights and gradients of scores,
 *   a = exp(scale score - lse),  ds = scale a (da - delta)
 * in their places; 0 outside. */
INLINE void weigh_back(float score[4][4], float da[4][4], local const float *lse,
                       local const float *delta, int rows, int columns, float scale)
{
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const bool in = ROW + i < rows && COLUMN + j < columns;
            const float a = in ? exp(scale * score[i][j] - lse[ROW + i]) : 0.0f;
            score[i][j] = a;
            da[i][j] = in ? scale * a * (da[i][j] - delta[ROW + i]) : 0.0f;
        }
    }
}

/* delta of a row and its part of the gradient of w_l; an item to a row */
INLINE void note_delta(local float *delta, local float *dw, global const float *grad,
                       global const float *dy, global const float *level,
                       global const float *first, int rows, int width)
{
    const int row = LANE(0);
    if (row < SIDE) {
        const size_t at = (size_t)row * width;
        float of_grad = 0.0f, of_out = 0.0f;
        for (int c = 0; c < (row < rows ? width : 0); c++) {
            of_grad += grad[at + c] * level[at + c];
            of_out += dy[at + c] * (level[at + c] - first[at + c]);
        }
        delta[row] = of_grad;
        dw[row] = of_out;
    }
}

/* Rows of y, n floats, = w x. */
INLINE void set_scaled(global float *y, global const float *x, float w, int n)
{
    for (int i = LANE(0); i < n; i += ITEMS) {
        y[i] = w * x[i];
    }
}

/* Levels last-1 .. first, backwards, for the queries; G of the last level is w dy:
 *   G_(l-1) = w_(l-1) dy + scale (p_l (G_l k - delta_l)) k, where G_(-1) is dq, to
 *   which dy adds nothing */
WORK_GROUP(ITEMS, 1, 1)
kernel void ham_back_queries(global float *restrict dq, global float *grads,
                             global float *places, global const float *q,
                             global const float *k, global const float *restrict c,
                             global const float *restrict dy,
                             global const int *restrict q_offsets,
                             global const int *restrict k_offsets, ham_args g)
{
    local float tiles[3 * TILE], ds[SIDE * STEP], lse[SIDE], delta[SIDE], dw[SIDE];
    const int lid = LANE(0);
    const ham_run r = run_of(q_offsets, k_offsets, GROUP(1), GROUP(0) * SIDE, SIDE);
    const level_softmax w = softmax_of(c, g.depth);
    const size_t at = (size_t)r.first * g.width, k_at = (size_t)r.other * g.width;
    float score[4][4], da[4][4];
    if (g.last == g.depth) {
        set_scaled(grad_of(grads, g.last - 1, g) + at, dy + at,
                   weight_of(c, g.last - 1, w), r.rows * g.width);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int l = g.last - 1; l >= g.first; l--) {
        global const float *grad = grad_of(grads, l, g) + at;
        global float *to = (l ? grad_of(grads, l - 1, g) : dq) + at;
        global const float *from = before(places, q, l, g) + at;
        global const float *keys = (g.self ? before(places, k, l, g) : k) + k_at;
        note_delta(delta, dw, grad, dy + at, place_of(places, l, g) + at,
                   place_of(places, 0, g) + at, r.rows, g.width);
        if (lid < r.rows) {
            lse[lid] = lse_of(places, l, g)[r.first + lid];
            delta_of(grads, l, g)[r.first + lid] = delta[lid];
        }
        set_scaled(to, dy + at, l ? weight_of(c, l - 1, w) : 0.0f,
                   l ? r.rows * g.width : 0);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (lid == 0) {
            float sum = 0.0f;
            for (int row = 0; row < r.rows; row++) {
                sum += dw[row];
            }
            partial_of(grads, l, g)[GROUP(1) * g.runs + GROUP(0)] = sum;
        }
        const bool wanted = r.rows && (l || g.mode != GRAD_SKIP);
        const int end = wanted ? max(r.others, 1) : 0;
        for (int j = 0; j < end; j += SIDE) { // once where there is no key: zeros
            const int count = min(SIDE, r.others - j);
            global const float *block = keys + (size_t)j * g.width;
            dot_rows_both(score, da, from, grad, r.rows, block, count, g.width, tiles);
            weigh_back(score, da, lse, delta, r.rows, count, g.scale);
            put_across(ds, da);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int col = 0; col < g.width; col += SIDE) {
                mix_rows(da, ds, block + col, count, g.width - col, g.width, tiles);
                store_tile(to + col, da, r.rows, g.width - col, g.width,
                           l || j || g.mode == GRAD_ADD);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}

/* dk (+)= p_l^T G_l + ds_l^T q_(l-1) over levels first .. last-1 */
WORK_GROUP(ITEMS, 1, 1)
kernel void ham_back_keys(global float *dk, global float *grads, global float *places,
                          global const float *q, global const float *k,
                          global const int *restrict q_offsets,
                          global const int *restrict k_offsets, ham_args g)
{
    local float tiles[3 * TILE], p[SIDE * STEP], ds[SIDE * STEP], lse[SIDE],
        delta[SIDE];
    const int lid = LANE(0);
    const ham_run r = run_of(k_offsets, q_offsets, GROUP(1), GROUP(0) * SIDE, SIDE);
    const size_t at = (size_t)r.first * g.width;
    const int end = r.rows ? max(r.others, 1) : 0;
    float score[4][4], da[4][4];
    for (int l = g.first; l < g.last; l++) {
        global const float *keys = (g.self ? before(places, k, l, g) : k) + at;
        global float *to = (g.self && l ? grad_of(grads, l - 1, g) : dk) + at;
        for (int j = 0; j < end; j += SIDE) { // once where there is no query: zeros
            const int count = min(SIDE, r.others - j), other = r.other + j;
            const size_t from = (size_t)other * g.width;
            global const float *block = before(places, q, l, g) + from;
            global const float *grad = grad_of(grads, l, g) + from;
            if (lid < count) {
                lse[lid] = lse_of(places, l, g)[other + lid];
                delta[lid] = delta_of(grads, l, g)[other + lid];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            dot_rows_both(score, da, block, grad, count, keys, r.rows, g.width, tiles);
            weigh_back(score, da, lse, delta, count, r.rows, g.scale);
            put_along(p, score);
            put_along(ds, da);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int c = 0; c < g.width; c += SIDE) {
                mix_rows_both(da, p, grad + c, ds, block + c, count, g.width - c,
                              g.width, tiles);
                store_tile(to + c, da, r.rows, g.width - c, g.width,
                           l > g.first || j || g.mode == GRAD_ADD);
            }
        }
    }
}
