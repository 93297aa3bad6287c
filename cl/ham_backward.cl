/* ham_backward.cl - the backward pass of repeated attention (Ham), for GPUs.
 *
 * Layout: as ham.clh.
 * Work-group: TM rows, see rows_group.clh; grid (runs of TM rows of the longest
 *   sequence, B), for keys also parts of the pairs of a level and a block of queries,
 *   which ham_add_parts adds up. Teams as in ham.cl.
 * Defines: those of rows_group.clh.
 * Numerics: weights are recomputed from top and share; f32 sums in the order of the
 * inner index, parts in order.
 * Writes: the gradients of this launch's levels; dq, dk as mode says; delta, partial
 *   whole. */
#include "ham.clh"
#include "rows_group.clh"

/* Weights and gradients of scores, stored transposed in p:
 *   a = exp(scale score - top) share,  ds = scale a (da - delta)
 * top, share and delta belong to rows or to columns. a is 0 from column count on. The
 * scaled score is rounded as in the forward pass: select keeps compilers from one
 * instruction for scale score - top. */
#define SEEN(column) ((int4)(0, 1, 2, 3) < (int4)(count - (column)))

/* Compute p = weights, with the top and share of rows or of columns. */
INLINE void weigh_rows(local float *p, sums *score, local const float *top,
                       local const float *share, int count, float scale)
{
#define BY_ROW(z, row, column)                                \
    z = select((float4)(-INFINITY), z * scale, SEEN(column)); \
    z = exp(z - top[row]) * share[row];
    EACH_ROW(BY_ROW, (*score))
    put_across(p, score);
}
INLINE void weigh_columns(local float *p, sums *score, local const float *top,
                          local const float *share, int count, float scale)
{
#define BY_COLUMN(z, row, column)                             \
    z = select((float4)(-INFINITY), z * scale, SEEN(column)); \
    z = exp(z - *(local const float4 *)(top + column)) *      \
        *(local const float4 *)(share + column);
    EACH_ROW(BY_COLUMN, (*score))
    put_across(p, score);
}

/* Returns four weights of a row that this item has stored in p. */
INLINE float4 weights_of(local const float *p, int row, int column)
{
    p += column * A_STEP + row;
    return (float4)(p[0], p[A_STEP], p[2 * A_STEP], p[3 * A_STEP]);
}

/* Compute ds = scale a (da - delta), with a in p and delta of rows or of columns. ds
 * may be p. */
INLINE void learn_rows(local float *ds, local const float *p, sums *da,
                       local const float *delta, float scale)
{
#define LEARN_ROW(z, row, column) \
    z = scale * weights_of(p, row, column) * (z - delta[row]);
    EACH_ROW(LEARN_ROW, (*da))
    put_across(ds, da);
}
INLINE void learn_columns(local float *ds, local const float *p, sums *da,
                          local const float *delta, float scale)
{
#define LEARN_COLUMN(z, row, column)         \
    z = scale * weights_of(p, row, column) * \
        (z - *(local const float4 *)(delta + column));
    EACH_ROW(LEARN_COLUMN, (*da))
    put_across(ds, da);
}

/* Computes delta of each row and dw, its part of the gradient of w_l. ACROSS items
 * share a row; red is 2 TM ACROSS floats. */
INLINE void note_delta(local float *delta, local float *dw, local float *red,
                       global const float *grad, global const float *dy,
                       global const float *level, global const float *first, int rows,
                       int width)
{
    const int lane = LANE(0) % ACROSS, lid = GROUP_ITEM;
#pragma unroll
    for (int n = 0; n < TM; n += TEAMS * DOWN) {
        const int row = n + lid / ACROSS;
        const size_t at = (size_t)row * width;
        float of_grad = 0.0f, of_out = 0.0f;
        for (int c = lane; c < (row < rows ? width : 0); c += ACROSS) {
            of_grad += grad[at + c] * level[at + c];
            of_out += dy[at + c] * (level[at + c] - first[at + c]);
        }
        red[row * ACROSS + lane] = of_grad;
        red[(TM + row) * ACROSS + lane] = of_out;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < TM) {
        float of_grad = 0.0f, of_out = 0.0f;
        for (int n = 0; n < ACROSS; n++) {
            of_grad += red[lid * ACROSS + n];
            of_out += red[(TM + lid) * ACROSS + n];
        }
        delta[lid] = of_grad;
        dw[lid] = of_out;
    }
}

/* Loads the maximum and the share of each row's softmax in level l, and stores its
 * delta for ham_back_keys. */
INLINE void note_softmax(local float *top, local float *share, local const float *delta,
                         global float *grads, global float *places, ham_run r, int l,
                         ham_args g)
{
    const int lid = GROUP_ITEM;
    if (lid < TM) {
        const bool own = lid < r.rows;
        top[lid] = own ? top_of(places, l, g)[r.first + lid] : 0.0f;
        share[lid] = own ? share_of(places, l, g)[r.first + lid] : 0.0f;
    }
    if (lid < r.rows) {
        delta_of(grads, l, g)[r.first + lid] = delta[lid];
    }
}

/* y = w x, n floats */
INLINE void set_scaled(global float *y, global const float *x, float w, int n)
{
    for (int i = GROUP_ITEM; i < n; i += GROUP_ITEMS) {
        y[i] = w * x[i];
    }
}

/* Gradients of the queries of levels last-1 .. first, in this order. G of the last
 * level is w dy:
 *   G_(l-1) = w_(l-1) dy + scale (p_l (G_l k - delta_l)) k, where G_(-1) is dq, without
 *   the term of dy */
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void ham_back_queries(global float *restrict dq, global float *grads,
                             global float *places, global const float *q,
                             global const float *k, global const float *restrict c,
                             global const float *restrict dy,
                             global const int *restrict q_offsets,
                             global const int *restrict k_offsets, ham_args g)
{
    local float tiles[TEAMS * TILES] __attribute__((aligned(16)));
    local float ds[P_SIZE] __attribute__((aligned(16)));
    local float top[TM], share[TM], delta[TM], dw[TM];
    const int lid = GROUP_ITEM;
    const ham_run r = run_of(q_offsets, k_offsets, GROUP(1), GROUP(0) * TM, TM);
    const level_softmax w = softmax_of(c, g.depth);
    const size_t at = (size_t)r.first * g.width, k_at = (size_t)r.other * g.width;
    sums sum;
    if (g.last == g.depth) {
        set_scaled(grad_of(grads, g.last - 1, g) + at, dy + at,
                   weight_of(c, g.last - 1, w), r.rows * g.width);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int l = g.last - 1; TOGETHER(l >= g.first); l--) {
        global const float *grad = grad_of(grads, l, g) + at;
        global float *to = (l ? grad_of(grads, l - 1, g) : dq) + at;
        global const float *from = before(places, q, l, g) + at;
        global const float *keys = (g.self ? before(places, k, l, g) : k) + k_at;
        note_delta(delta, dw, tiles, grad, dy + at, place_of(places, l, g) + at,
                   place_of(places, 0, g) + at, r.rows, g.width);
        note_softmax(top, share, delta, grads, places, r, l, g);
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
        const matrix queries = matrix_of(from, g.width, r.rows, g.width);
        const matrix grads_in = matrix_of(grad, g.width, r.rows, g.width);
        // one round even without keys, to write zeros
        for (int j = 0; TOGETHER(j < end); j += TN) {
            const matrix block = matrix_of(keys + (size_t)j * g.width, g.width,
                                           min(TN, r.others - j), g.width);
            dot_rows(&sum, queries, block, tiles);
            if (HAS_SUMS) {
                weigh_rows(ds, &sum, top, share, block.last, g.scale);
            }
            sums da; // Mesa 22.3 loses a part of sums that are reused
            dot_rows(&da, grads_in, block, tiles);
            if (HAS_SUMS) {
                learn_rows(ds, ds, &da, delta, g.scale);
            }
            for (int first = 0; TOGETHER(first < g.width); first += TEAMS * TN) {
                const int col = first + OWN_TEAM * TN;
                sums_clear(&sum);
                mix_rows(&sum, ds, block, col, tiles);
                store_tile(to + col, &sum, r.rows, g.width - col, g.width,
                           l || j || g.mode == GRAD_ADD);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}

/* Where a round of ham_back_keys stores: the part's own [Nk,d] behind dk, or dk itself
 * if there is one part; with self, G_(l-1) takes the place of dk for l > 0. */
INLINE global float *keys_to(global float *dk, global float *grads, int l, int keys,
                             ham_args g)
{
    if (g.parts > 1) {
        return dk + (size_t)GROUP(2) * keys * g.width;
    }
    return g.self && l ? grad_of(grads, l - 1, g) : dk;
}

/* dk (+)= p_l^T G_l + ds_l^T q_(l-1) over levels first .. last-1. A sequence's pairs of
 * a level and TN queries are shared out to the parts. */
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void ham_back_keys(global float *dk, global float *grads, global float *places,
                          global const float *q, global const float *k,
                          global const int *restrict q_offsets,
                          global const int *restrict k_offsets, ham_args g)
{
    local float tiles[TEAMS * TILES] __attribute__((aligned(16)));
    local float p[P_SIZE] __attribute__((aligned(16)));
    local float ds[P_SIZE] __attribute__((aligned(16)));
    local float top[TN] __attribute__((aligned(16)));
    local float share[TN] __attribute__((aligned(16)));
    local float delta[TN] __attribute__((aligned(16)));
    const int lid = GROUP_ITEM;
    const ham_run r = run_of(k_offsets, q_offsets, GROUP(1), GROUP(0) * TM, TM);
    const size_t at = (size_t)r.first * g.width;
    const int blocks = max((r.others + TN - 1) / TN, 1);
    const int pairs = (g.last - g.first) * blocks;
    const int each = (pairs + g.parts - 1) / g.parts, first = GROUP(2) * each;
    // one round even without a pair, to write zeros
    const int end = r.rows ? max(min(first + each, pairs), first + 1) : first;
    sums sum;
    for (int i = first; TOGETHER(i < end); i++) {
        const int l = g.first + min(i, pairs - 1) / blocks;
        const int j = i < pairs ? i % blocks * TN : 0;
        const int count = i < pairs ? min(TN, r.others - j) : 0, other = r.other + j;
        const size_t from = (size_t)other * g.width;
        global const float *keys = (g.self ? before(places, k, l, g) : k) + at;
        global float *to = keys_to(dk, grads, l, k_offsets[g.sequences], g) + at;
        const matrix own = matrix_of(keys, g.width, r.rows, g.width);
        const matrix block =
            matrix_of(before(places, q, l, g) + from, g.width, count, g.width);
        const matrix grad =
            matrix_of(grad_of(grads, l, g) + from, g.width, count, g.width);
        if (lid < TN) {
            const bool seen = lid < count;
            top[lid] = seen ? top_of(places, l, g)[other + lid] : 0.0f;
            share[lid] = seen ? share_of(places, l, g)[other + lid] : 0.0f;
            delta[lid] = seen ? delta_of(grads, l, g)[other + lid] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        dot_rows(&sum, own, block, tiles);
        if (HAS_SUMS) {
            weigh_columns(p, &sum, top, share, count, g.scale);
        }
        sums da;
        dot_rows(&da, own, grad, tiles);
        if (HAS_SUMS) {
            learn_columns(ds, p, &da, delta, g.scale);
        }
        for (int c0 = 0; TOGETHER(c0 < g.width); c0 += TEAMS * TN) {
            const int c = c0 + OWN_TEAM * TN;
            sums_clear(&sum);
            mix_rows(&sum, p, grad, c, tiles);
            mix_rows(&sum, ds, block, c, tiles);
            store_tile(to + c, &sum, r.rows, g.width - c, g.width,
                       i > first || (g.parts == 1 && g.mode == GRAD_ADD));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* to[place,i] (+)= sum over the parts of partial[part,i], i < count */
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void ham_add_parts(global float *restrict to,
                          global const float *restrict partial, int place, int count,
                          int parts, int add)
{
    const int i = GROUP(0) * GROUP_ITEMS + GROUP_ITEM;
    if (i < count) {
        global float *out = to + (size_t)place * count + i;
        float sum = add ? *out : 0.0f;
#pragma unroll 8
        for (int part = 0; part < parts; part++) {
            sum += partial[(size_t)part * count + i];
        }
        *out = sum;
    }
}
