/* attention_tile.cl - fused attention, a tile of rows to each work-item (CPU devices).
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: 1 item; grid (tiles of the longest sequence, H, B).
 * Defines: WIDTH = d; VEC; ROWS, vectors of a tile.
 * Numerics: online softmax, exp_fastv; backward makes the weights again from lse.
 * Writes: every row of o and lse; every row of the gradients (added to when asked).
 *         A tile belongs to one item and blocks come in order, so two runs give the
 *         same bits. */
#include "attention_tile.clh"

/* Keys key .. key+count-1 in rows, queries from query on in lanes. */
INLINE void hide_keys(floatv (*s)[ROWS], int key, int count, int query, int reach)
{
    for (int r = 0; r < ROWS; r++) {
        const intv last = count_up(query + r * VEC + reach);
        for (int j = 0; j < count; j++) {
            s[j][r] = select((floatv)(NEVER), s[j][r], (intv)(key + j) <= last);
        }
    }
}

/* Queries query .. query+count-1 in rows, keys from key on in lanes. */
INLINE void hide_queries(floatv (*s)[ROWS], int query, int count, int key, int reach)
{
    for (int r = 0; r < ROWS; r++) {
        const intv keys = count_up(key + r * VEC);
        for (int i = 0; i < count; i++) {
            s[i][r] =
                select((floatv)(NEVER), s[i][r], keys <= (intv)(query + i + reach));
        }
    }
}

/* s *= what dropout keeps, at every fourth row the keys of one draw. */
INLINE void drop_keys(floatv (*s)[ROWS], attention_args a, int token, int head, int key,
                      int count)
{
    for (int r = 0; r < ROWS; r++) {
        const intv tokens = count_up(token + r * VEC);
        for (int j = 0; j < count; j += 4) {
            floatv keep[4];
            keep_weights(keep, a, tokens, head, (key + j) / 4);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                s[j + e][r] *= keep[e];
            }
        }
    }
}

/* s = exp(s - top) with the running maximum brought up to date; what was summed before
 * shrinks by fade. */
INLINE void weigh(floatv (*s)[ROWS], int count, floatv *top, floatv *total, float *fade)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        floatv high = top[r];
        for (int j = 0; j < count; j++) {
            high = max(high, s[j][r]);
        }
        const floatv shrink = exp_fastv(top[r] - high);
        floatv sum = total[r] * shrink;
        for (int j = 0; j < count; j++) {
            s[j][r] = exp_fastv(s[j][r] - high);
            sum += s[j][r];
        }
        top[r] = high;
        total[r] = sum;
        vstorev(shrink, (size_t)r, fade);
    }
}

// o_i = sum_j p_ij v_j, lse_i = m_i + ln(sum_j exp(s_ij - m_i)); lse may be null
WORK_GROUP(1, 1, 1)
kernel void attention_forward(global float *restrict o, global float *restrict lse,
                              global const float *restrict q,
                              global const float *restrict k,
                              global const float *restrict v,
                              global const int *restrict q_offsets,
                              global const int *restrict k_offsets, attention_args a)
{
    const int first = GROUP(0) * TILE, h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int rows = min(e.T - first, TILE), row = e.q_first + first;
    if (rows <= 0) {
        return;
    }
    floatv x[WIDTH][ROWS], s[BLOCK][ROWS], top[ROWS], total[ROWS];
    float y[BLOCK * PAD], z[TILE * PAD], fade[TILE];
    load_tile(x, q + q_row(a, row, h, WIDTH), a.q_stride, rows, a.scale);
    for (int r = 0; r < ROWS; r++) {
        top[r] = (floatv)(SCORE_MIN);
        total[r] = (floatv)(0.0f);
    }
    fill(z, TILE * PAD, 0.0f);
    const int end = clamp(first + rows + e.reach, 0, e.S);
    for (int j = 0; j < end; j += BLOCK) {
        const int count = min(end - j, BLOCK), key = e.k_first + j;
        scores(s, x, k + k_row(a, key, h, WIDTH), a.k_stride, count);
        if (j + count - 1 > first + e.reach) {
            hide_keys(s, j, count, first, e.reach);
        }
        weigh(s, count, top, total, fade);
        if (a.drop > 0.0f) {
            drop_keys(s, a, row, h, j, count);
        }
        load_block(y, v + v_row(a, key, h, WIDTH), a.v_stride, count);
        mix(z, (const float *)s, y, count, fade);
    }
    for (int r = 0; r < ROWS; r++) {
        const intv some = total[r] > 0.0f;
        vstorev(select((floatv)(0.0f), 1.0f / total[r], some), (size_t)r, fade);
        total[r] = select((floatv)(0.0f), top[r] + log(total[r]), some);
    }
    store_tile(o + o_row(a, row, h, WIDTH), a.heads * WIDTH, z, rows, fade, GRAD_WRITE);
    for (int i = 0; lse && i < rows; i++) {
        lse[statistic(a, row + i, h)] = ((const float *)total)[i];
    }
}

/* The statistics of a tile's rows; those past count repeat the last. */
INLINE void load_rows(floatv x[ROWS], global const float *rows, int count)
{
    for (int i = 0; i < TILE; i++) {
        ((float *)x)[i] = rows[min(i, count - 1)];
    }
}

/* s = p (keep dp - delta), from s = <q,k> scaled and dp = <dO,v>; lanes are queries. */
INLINE void weigh_keys(floatv (*s)[ROWS], floatv (*dp)[ROWS], int count,
                       const floatv *lse, const floatv *delta)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        for (int j = 0; j < count; j++) {
            s[j][r] = exp_fastv(s[j][r] - lse[r]) * (dp[j][r] - delta[r]);
        }
    }
}

// dq_i += scale sum_j ds_ij k_j, ds_ij = p_ij (keep_ij <dO_i, v_j> - delta_i)
WORK_GROUP(1, 1, 1)
kernel void attention_grad_q(
    global float *dq, global const float *restrict dy, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const float *restrict delta,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    attention_args a, int mode)
{
    const int first = GROUP(0) * TILE, h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int rows = min(e.T - first, TILE), row = e.q_first + first;
    if (rows <= 0) {
        return;
    }
    floatv x[WIDTH][ROWS], g[WIDTH][ROWS], s[BLOCK][ROWS], dp[BLOCK][ROWS];
    floatv lses[ROWS], deltas[ROWS];
    float y[BLOCK * PAD], z[TILE * PAD], factor[TILE];
    load_tile(x, q + q_row(a, row, h, WIDTH), a.q_stride, rows, a.scale);
    load_tile(g, dy + o_row(a, row, h, WIDTH), a.heads * WIDTH, rows, 1.0f);
    load_rows(lses, lse + statistic(a, row, h), rows);
    load_rows(deltas, delta + statistic(a, row, h), rows);
    fill(z, TILE * PAD, 0.0f);
    fill(factor, TILE, 1.0f);
    const int end = clamp(first + rows + e.reach, 0, e.S);
    for (int j = 0; j < end; j += BLOCK) {
        const int count = min(end - j, BLOCK), key = e.k_first + j;
        scores(s, x, k + k_row(a, key, h, WIDTH), a.k_stride, count);
        scores(dp, g, v + v_row(a, key, h, WIDTH), a.v_stride, count);
        if (j + count - 1 > first + e.reach) {
            hide_keys(s, j, count, first, e.reach);
        }
        if (a.drop > 0.0f) {
            drop_keys(dp, a, row, h, j, count);
        }
        weigh_keys(s, dp, count, lses, deltas);
        load_block(y, k + k_row(a, key, h, WIDTH), a.k_stride, count);
        mix(z, (const float *)s, y, count, factor);
    }
    fill(factor, TILE, a.scale);
    store_tile(dq + q_row(a, row, h, WIDTH), a.q_stride, z, rows, factor, mode);
}

/* Of VEC queries from row i on: s = keep p and dp = p (keep dp - delta); lanes are
 * keys. The draws of one key group have queries in lanes, and are turned over. */
INLINE void weigh_queries(floatv (*s)[ROWS], floatv (*dp)[ROWS], int count,
                          global const float *lse, global const float *delta,
                          attention_args a, int token, int head, int key)
{
    for (int r = 0; r < ROWS; r++) {
        floatv keep[VEC];
        for (int u = 0; u < VEC; u++) {
            keep[u] = (floatv)(1.0f);
        }
        if (a.drop > 0.0f) {
            for (int u = 0; u < VEC; u += 4) {
                keep_weights(keep + u, a, count_up(token), head,
                             (key + r * VEC + u) / 4);
            }
            transpose(keep);
        }
        for (int i = 0; i < count; i++) {
            const floatv p = exp_fastv(s[i][r] - lse[i]);
            s[i][r] = p * keep[i];
            dp[i][r] = p * (dp[i][r] * keep[i] - delta[i]);
        }
    }
}

// dk_j += scale sum_i ds_ij q_i, dv_j += sum_i keep_ij p_ij dO_i
WORK_GROUP(1, 1, 1)
kernel void attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int k_mode, int v_mode)
{
    const int first = GROUP(0) * TILE, h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int rows = min(e.S - first, TILE), row = e.k_first + first;
    if (rows <= 0) {
        return;
    }
    floatv x[WIDTH][ROWS], g[WIDTH][ROWS], s[BLOCK][ROWS], dp[BLOCK][ROWS];
    float y[BLOCK * PAD], z[TILE * PAD], gz[TILE * PAD], factor[TILE];
    load_tile(x, k + k_row(a, row, h, WIDTH), a.k_stride, rows, a.scale);
    load_tile(g, v + v_row(a, row, h, WIDTH), a.v_stride, rows, 1.0f);
    fill(z, TILE * PAD, 0.0f);
    fill(gz, TILE * PAD, 0.0f);
    fill(factor, TILE, 1.0f);
    for (int i = max(first - e.reach, 0); i < e.T; i += BLOCK) {
        const int count = min(e.T - i, BLOCK), query = e.q_first + i;
        global const float *queries = q + q_row(a, query, h, WIDTH);
        global const float *dys = dy + o_row(a, query, h, WIDTH);
        const size_t at = statistic(a, query, h);
        scores(s, x, queries, a.q_stride, count);
        scores(dp, g, dys, a.heads * WIDTH, count);
        if (first + rows - 1 > i + e.reach) {
            hide_queries(s, i, count, first, e.reach);
        }
        for (int u = 0; u < count; u += VEC) {
            weigh_queries(s + u, dp + u, min(count - u, VEC), lse + at + u,
                          delta + at + u, a, query + u, h, first);
        }
        load_block(y, dys, a.heads * WIDTH, count);
        mix(gz, (const float *)s, y, count, factor);
        load_block(y, queries, a.q_stride, count);
        mix(z, (const float *)dp, y, count, factor);
    }
    if (v_mode != GRAD_SKIP) {
        store_tile(dv + v_row(a, row, h, WIDTH), a.v_stride, gz, rows, factor, v_mode);
    }
    fill(factor, TILE, a.scale);
    if (k_mode != GRAD_SKIP) {
        store_tile(dk + k_row(a, row, h, WIDTH), a.k_stride, z, rows, factor, k_mode);
    }
}
