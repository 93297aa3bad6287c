/* attention_backward_tile.cl - all gradients of a head of a sequence by one work-item,
 * where there are enough of these for a CPU device.
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: 1 item; grid (H, B).
 * Defines: WIDTH = d; VEC; ROWS, vectors of a tile.
 * Numerics: exp_fastv; the weights are made again from lse.
 * Writes: every row of the gradients wanted (added to when asked). Tiles of keys come
 *         in order, and each adds its part to dq, so two runs give the same bits. */
#include "attention_pass_tile.clh"

/* Where everything is in global memory, from this head's first row on. */
typedef struct head_rows {
    global float *dq, *dk, *dv;
    global const float *dy, *q, *k, *v, *lse, *delta;
    sequence e;
    int h;
} head_rows;

/* A tile of keys, once with keys in lanes and once by rows, and a block of queries. */
typedef struct head_tile {
    floatv keys[WIDTH][ROWS], values[WIDTH][ROWS];
    floatv s[BLOCK][ROWS], ds[BLOCK][ROWS];
    float k[TILE * PAD], q[BLOCK * PAD], dy[BLOCK * PAD];
    float dk[TILE * PAD], dv[TILE * PAD], dq[BLOCK * PAD];
} head_tile;

/* Rows for scores_of(), which takes KEYS at a time. */
INLINE void load_queries(float *y, global const float *rows, int stride, int count)
{
    load_block(y, rows, stride, count);
    const int whole = (count + KEYS - 1) / KEYS * KEYS;
    fill(y + count * PAD, (whole - count) * PAD, 0.0f);
}

/* s[i][r] = <x_r, y_i> for i < count; up to KEYS - 1 more rows of s are 0. */
INLINE void scores_of(floatv (*s)[ROWS], floatv (*x)[ROWS], const float *y, int count)
{
    for (int i = 0; i < count; i += KEYS) {
        floatv sum[KEYS][ROWS];
#pragma unroll
        for (int u = 0; u < KEYS; u++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                sum[u][r] = (floatv)(0.0f);
            }
        }
        for (int c = 0; c < WIDTH; c++) {
#pragma unroll
            for (int u = 0; u < KEYS; u++) {
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    sum[u][r] += x[c][r] * y[(i + u) * PAD + c];
                }
            }
        }
#pragma unroll
        for (int u = 0; u < KEYS; u++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                s[i + u][r] = sum[u][r];
            }
        }
    }
}

// dq_i += scale sum_j ds_ij k_j over the keys of a tile
INLINE void add_dq(head_tile *t, global float *dq, int stride, int queries, int keys,
                   float scale, int mode)
{
    const weight_steps step = { 1, TILE };
    float factor[BLOCK];
    for (int i = 0; i < queries; i += 4) {
        for (int c = 0; c < PAD; c += STEP * VEC) {
            mix_step(t->dq + i * PAD + c, (const float *)t->ds + i * TILE, step,
                     t->k + c, keys, 0);
        }
    }
    fill(factor, BLOCK, scale);
    store_tile(dq, stride, t->dq, queries, factor, mode);
}

/* Queries i .. i+count-1 against the keys of a tile, first .. first+rows-1: their part
 * of all three gradients. A head of a short sequence is soon done, and memory answers
 * late: where one tile holds all keys, what will be written is asked for in time, and
 * what the next head reads. */
INLINE void meet(head_tile *t, const head_rows *x, int i, int first, int rows,
                 attention_args a, int q_mode)
{
    const int count = min(x->e.T - i, BLOCK), dy_stride = a.heads * WIDTH;
    const size_t q_at = (size_t)i * (size_t)a.q_stride;
    global const float *dy = x->dy + (size_t)i * (size_t)dy_stride;
    float one[TILE];
    if (x->e.S <= TILE) {
        fetch_rows(x->dq + q_at, a.q_stride, count, WIDTH);
        fetch_rows(x->q + q_at + WIDTH, a.q_stride, count, WIDTH);
        fetch_rows(dy + WIDTH, dy_stride, count, WIDTH);
    }
    load_queries(t->q, x->q + q_at, a.q_stride, count);
    load_queries(t->dy, dy, dy_stride, count);
    scores_of(t->s, t->keys, t->q, count);
    scores_of(t->ds, t->values, t->dy, count);
    if (first + rows - 1 > i + x->e.reach) {
        hide_queries(t->s, i, count, first, x->e.reach);
    }
    for (int u = 0; u < count; u += VEC) {
        weigh_queries(t->s + u, t->ds + u, min(count - u, VEC), x->lse + i + u,
                      x->delta + i + u, a, x->e.q_first + i + u, x->h, first);
    }
    fill(one, TILE, 1.0f);
    mix_values(t->dv, (const float *)t->s, t->dy, count, one);
    mix_values(t->dk, (const float *)t->ds, t->q, count, one);
    if (q_mode != GRAD_SKIP) {
        add_dq(t, x->dq + q_at, a.q_stride, count, rows, a.scale,
               first ? GRAD_ADD : q_mode);
    }
}

/* A tile of keys and the queries that see them; with the first tile come all, since dq
 * must be written. */
INLINE void meet_all(head_tile *t, const head_rows *x, int first, attention_args a,
                     attention_modes modes)
{
    const int rows = min(x->e.S - first, TILE);
    const size_t k_at = (size_t)first * (size_t)a.k_stride;
    const size_t v_at = (size_t)first * (size_t)a.v_stride;
    float factor[TILE];
    if (x->e.S <= TILE) {
        fetch_rows(x->dk + k_at, a.k_stride, rows, WIDTH);
        fetch_rows(x->dv + v_at, a.v_stride, rows, WIDTH);
        fetch_rows(x->k + k_at + WIDTH, a.k_stride, rows, WIDTH);
        fetch_rows(x->v + v_at + WIDTH, a.v_stride, rows, WIDTH);
    }
    load_tile(t->keys, x->k + k_at, a.k_stride, rows, a.scale);
    load_tile(t->values, x->v + v_at, a.v_stride, rows, 1.0f);
    load_block(t->k, x->k + k_at, a.k_stride, rows);
    fill(t->dk, TILE * PAD, 0.0f);
    fill(t->dv, TILE * PAD, 0.0f);
    const int seen = max(first - x->e.reach, 0);
    for (int i = first ? seen : 0; i < x->e.T; i += BLOCK) {
        meet(t, x, i, first, rows, a, modes.q);
    }
    if (modes.k != GRAD_SKIP) {
        fill(factor, TILE, a.scale);
        store_tile(x->dk + k_at, a.k_stride, t->dk, rows, factor, modes.k);
    }
    if (modes.v != GRAD_SKIP) {
        fill(factor, TILE, 1.0f);
        store_tile(x->dv + v_at, a.v_stride, t->dv, rows, factor, modes.v);
    }
}

/* Queries without any key have a gradient of 0. */
INLINE void clear_dq(const head_rows *x, attention_args a)
{
    for (int i = 0; i < x->e.T; i++) {
        for (int c = 0; c < WIDTH; c++) {
            x->dq[(size_t)i * (size_t)a.q_stride + (size_t)c] = 0.0f;
        }
    }
}

// ds_ij = p_ij (keep_ij <dO_i, v_j> - delta_i): dq_i += scale sum_j ds_ij k_j,
// dk_j += scale sum_i ds_ij q_i, dv_j += sum_i keep_ij p_ij dO_i
WORK_GROUP(1, 1, 1)
kernel void attention_backward(
    global float *dq, global float *dk, global float *dv,
    global const float *restrict dy, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const float *restrict delta,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    attention_args a, attention_modes modes)
{
    const int h = GROUP(0);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(1), a.causal);
    const size_t q_at = q_row(a, e.q_first, h, WIDTH);
    const size_t k_at = k_row(a, e.k_first, h, WIDTH);
    const size_t v_at = v_row(a, e.k_first, h, WIDTH);
    const size_t at = statistic(a, e.q_first, h);
    const head_rows x = {
        dq + q_at,  dk + k_at, dv + v_at, dy + o_row(a, e.q_first, h, WIDTH),
        q + q_at,   k + k_at,  v + v_at,  lse + at,
        delta + at, e,         h,
    };
    head_tile t;
    for (int first = 0; first < e.S; first += TILE) {
        meet_all(&t, &x, first, a, modes);
    }
    if (e.S == 0 && modes.q == GRAD_WRITE) {
        clear_dq(&x, a);
    }
}
