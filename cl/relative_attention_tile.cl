/* relative_attention_tile.cl - attention with biases by distance; each work-item has a
 * tile of rows (CPU devices).
 *
 * Layout: as attention.clh; near, near_dp and sums as relative_attention.clh; offsets
 *         [B+1].
 * Work-group: 1 item; grid (tiles of the longest sequence, H, B).
 * Defines: WIDTH = d; VEC; ROWS, vectors of a tile.
 * Numerics: online softmax, exp2_below; backward recomputes the weights from lse.
 * Writes: every row of o, lse and sums; every row of the gradients (added to with
 *         GRAD_ADD). A tile belongs to one item, so two runs give the same bits. */
#include "attention_pass_tile.clh"
#include "relative_attention.clh"

/* Return begin and end for a block of keys: keys before begin have distance -R or less
 * from every query of the tile, keys from end on R or more; those between do not.
 * apart is the distance from the tile's first query to the block's first key. */
INLINE int near_begin(int apart, int count, int clip)
{
    return clamp(1 - clip - apart, 0, count);
}
INLINE int near_end(int apart, int count, int clip)
{
    return clamp(clip - apart + TILE - 1, near_begin(apart, count, clip), count);
}

/* s += near, keys in rows, the first `rows` queries of the tile in lanes. */
INLINE void add_near(floatv (*s)[ROWS], global const float *near, int apart, int count,
                     int rows, int clip)
{
    const int begin = near_begin(apart, count, clip);
    const int end = near_end(apart, count, clip);
    float *const score = (float *)s;
    floatv front[ROWS], back[ROWS];
    for (int r = 0; r < ROWS; r++) {
        front[r] = back[r] = (floatv)(0.0f);
    }
    for (int i = 0; i < rows; i++, near += 2 * clip + 1) {
        ((float *)front)[i] = near[0];
        ((float *)back)[i] = near[2 * clip];
        for (int j = begin; j < end; j++) {
            score[j * TILE + i] += near[near_number(apart + j - i, clip)];
        }
    }
    for (int r = 0; r < ROWS; r++) {
        for (int j = 0; j < begin; j++) {
            s[j][r] += front[r];
        }
        for (int j = end; j < count; j++) {
            s[j][r] += back[r];
        }
    }
}

/* s += near, count queries in rows, the tile's keys in lanes; apart is the
 * distance from the first query to the tile's first key. */
INLINE void add_near_queries(floatv (*s)[ROWS], global const float *near, int apart,
                             int count, int clip)
{
    for (int i = 0; i < count; i++, near += 2 * clip + 1) {
        for (int r = 0; r < ROWS; r++) {
            const int at = apart - i + r * VEC + clip; // of the first lane
            floatv x = (floatv)(near[at < 0 ? 0 : 2 * clip]);
            if (at >= 0 && at + VEC - 1 <= 2 * clip) {
                x = loadv(0, near + at);
            } else if (at + VEC - 1 > 0 && at < 2 * clip) {
                for (int u = 0; u < VEC; u++) {
                    ((float *)&x)[u] = near[clamp(at + u, 0, 2 * clip)];
                }
            }
            s[i][r] += x;
        }
    }
}

/* Row i of sums *= factor[i]; even if that is NaN, a sum of 0 is of no key. */
INLINE void scale_sums(global float *sums, const float *factor, int rows, int clip)
{
    for (int i = 0; i < rows; i++, sums += 2 * clip + 1) {
        const float by = factor[i];
        for (int n = 0; by == by && n <= 2 * clip; n++) {
            sums[n] *= by;
        }
        for (int n = 0; by != by && n <= 2 * clip; n++) {
            sums[n] = sums[n] == 0.0f ? 0.0f : by;
        }
    }
}

INLINE void clear_sums(global float *sums, int rows, int clip)
{
    for (int n = 0; n < rows * (2 * clip + 1); n++) {
        sums[n] = 0.0f;
    }
}

/* Adds s to the sums of the distances, for the first `rows` queries of the tile. */
INLINE void add_sums_near(global float *sums, floatv (*s)[ROWS], int apart, int count,
                          int rows, int clip)
{
    const int begin = near_begin(apart, count, clip);
    const int end = near_end(apart, count, clip);
    const float *const score = (const float *)s;
    floatv front[ROWS], back[ROWS];
    for (int r = 0; r < ROWS; r++) {
        front[r] = back[r] = (floatv)(0.0f);
        for (int j = 0; j < begin; j++) {
            front[r] += s[j][r];
        }
        for (int j = end; j < count; j++) {
            back[r] += s[j][r];
        }
    }
    for (int i = 0; i < rows; i++, sums += 2 * clip + 1) {
        sums[0] += ((const float *)front)[i];
        for (int j = begin; j < end; j++) {
            sums[near_number(apart + j - i, clip)] += score[j * TILE + i];
        }
        sums[2 * clip] += ((const float *)back)[i];
    }
}

// o_i = sum_j p_ij v_j, p = softmax(scale (<q_i,k_j> + near_i,j-i)), sums_in = the sum
// of p_ij over the keys at distance n; lse may be null
WORK_GROUP(1, 1, 1)
kernel void attention_forward(
    global float *restrict o, global float *restrict lse,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a,
    global const float *restrict rel, global float *restrict finite, near_shape n,
    global float *restrict sums, global const float *restrict near)
{
    const int h = GROUP(1), first = GROUP(0) * TILE;
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int clip = n.clip;
    copy_finite(finite, rel, n.size, 1, 1);
    const int rows = min(e.T - first, TILE), row = e.q_first + first;
    if (rows <= 0) {
        return;
    }
    own_rows x;
    floatv s[BLOCK][ROWS];
    mix_memory y;
    float z[TILE * PAD], fade[TILE];
    row_state state;
    const bias none = { 0, 0, 0 };
    near += near_row(a, row, h, clip);
    sums += near_row(a, row, h, clip);
    PRODUCTS_BEGIN
    load_tile(x, q + q_row(a, row, h, WIDTH), a.q_stride, rows);
    const int end = clamp(first + rows + e.reach, 0, e.S);
    for (bool odd = false, done = false; !done;) {
        state_init(&state, a.scale);
        fill(z, TILE * PAD, 0.0f);
        clear_sums(sums, rows, clip);
        for (int j = 0; j < end; j += BLOCK) {
            const int count = min(end - j, BLOCK), key = e.k_first + j;
            const int apart = j - first - (e.S - e.T);
            scores(s, x, k + k_row(a, key, h, WIDTH), a.k_stride, count);
            add_near(s, near, apart, count, rows, clip);
            if (j + count - 1 > first + e.reach) {
                hide_keys(s, j, count, first, e.reach);
            }
            weigh_either(s, count, &state, fade, odd);
            if (a.drop > 0.0f) {
                drop_keys(s, a, row, h, j, count);
            }
            scale_sums(sums, fade, j ? rows : 0, clip);
            add_sums_near(sums, s, apart, count, rows, clip);
            mix_rows(z, (const float *)s, y, v + v_row(a, key, h, WIDTH), a.v_stride,
                     count, fade, odd);
        }
        done = odd || !may_hide(&none, a) || !has_odd(z, TILE * VECTORS);
        odd = true;
    }
    state_end(&state, fade);
    store_tile(o + o_row(a, row, h, WIDTH), a.heads * WIDTH, z, rows, fade, GRAD_WRITE);
    scale_sums(sums, fade, rows, clip);
    state_store(&state, lse, row, rows, h, a);
    PRODUCTS_END
}

// ds_ij = p_ij (keep_ij (<dO_i,v_j> + near_dp_i,j-i) - delta_i):
//   dq_i (+)= scale sum_j ds_ij k_j, sums_in = the sum of scale ds_ij over the keys at
//   distance n
WORK_GROUP(1, 1, 1)
kernel void attention_grad_q(
    global float *dq, global float *delta, global const float *restrict dy,
    global const float *restrict o, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int mode,
    global const float *restrict rel, global float *restrict finite, near_shape n,
    global float *restrict sums, global const float *restrict near,
    global const float *restrict near_dp)
{
    const int h = GROUP(1), first = GROUP(0) * TILE;
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int clip = n.clip;
    copy_finite(finite, rel, n.size, 1, 1);
    const int rows = min(e.T - first, TILE), row = e.q_first + first;
    if (rows <= 0) {
        return;
    }
    own_rows x, g;
    floatv s[BLOCK][ROWS], dp[BLOCK][ROWS];
    row_stats stats;
    const bias none = { 0, 0, 0 };
    mix_memory y;
    float z[TILE * PAD], factor[TILE];
    near += near_row(a, row, h, clip);
    near_dp += near_row(a, row, h, clip);
    sums += near_row(a, row, h, clip);
    PRODUCTS_BEGIN
    load_tile(g, dy + o_row(a, row, h, WIDTH), a.heads * WIDTH, rows);
    note_deltas(delta + statistic(a, row, h), g, x, dy + o_row(a, row, h, WIDTH),
                o + o_row(a, row, h, WIDTH), a.heads * WIDTH, rows);
    load_tile(x, q + q_row(a, row, h, WIDTH), a.q_stride, rows);
    stats_load(&stats, lse, delta, row, rows, h, a, a.scale);
    fill(z, TILE * PAD, 0.0f);
    fill(factor, TILE, 1.0f);
    clear_sums(sums, rows, clip);
    const int end = clamp(first + rows + e.reach, 0, e.S);
    for (int j = 0; j < end; j += BLOCK) {
        const int count = min(end - j, BLOCK), key = e.k_first + j;
        const int apart = j - first - (e.S - e.T);
        scores(s, x, k + k_row(a, key, h, WIDTH), a.k_stride, count);
        scores(dp, g, v + v_row(a, key, h, WIDTH), a.v_stride, count);
        add_near(s, near, apart, count, rows, clip);
        add_near(dp, near_dp, apart, count, rows, clip);
        const bool odd = block_is_odd(&none, a, s, dp, count, stats.odd);
        if (j + count - 1 > first + e.reach) {
            hide_keys(s, j, count, first, e.reach);
        }
        if (a.drop > 0.0f) {
            drop_keys(dp, a, row, h, j, count);
        }
        if (odd) {
            weigh_keys_odd(s, dp, count, &stats);
        } else {
            weigh_keys(s, dp, count, &stats);
        }
        add_sums_near(sums, s, apart, count, rows, clip);
        mix_rows(z, (const float *)s, y, k + k_row(a, key, h, WIDTH), a.k_stride, count,
                 factor, odd);
    }
    fill(factor, TILE, a.scale);
    scale_sums(sums, factor, rows, clip);
    if (mode != GRAD_SKIP) {
        store_tile(dq + q_row(a, row, h, WIDTH), a.q_stride, z, rows, factor, mode);
    }
    PRODUCTS_END
}

// dk_j (+)= scale sum_i ds_ij q_i, dv_j (+)= sum_i keep_ij p_ij dO_i
WORK_GROUP(1, 1, 1)
kernel void attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int k_mode, int v_mode,
    int clip, global const float *restrict near, global const float *restrict near_dp)
{
    const int h = GROUP(1), first = GROUP(0) * TILE;
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int rows = min(e.S - first, TILE), row = e.k_first + first;
    if (rows <= 0) {
        return;
    }
    own_rows x, g;
    floatv s[BLOCK][ROWS], dp[BLOCK][ROWS];
    mix_memory y;
    float z[TILE * PAD], gz[TILE * PAD], factor[TILE];
    const bias none = { 0, 0, 0 };
    PRODUCTS_BEGIN
    load_tile(x, k + k_row(a, row, h, WIDTH), a.k_stride, rows);
    load_tile(g, v + v_row(a, row, h, WIDTH), a.v_stride, rows);
    fill(z, TILE * PAD, 0.0f);
    fill(gz, TILE * PAD, 0.0f);
    fill(factor, TILE, 1.0f);
    for (int i = max(first - e.reach, 0); i < e.T; i += BLOCK) {
        const int count = min(e.T - i, BLOCK), query = e.q_first + i;
        const int apart = first - i - (e.S - e.T);
        global const float *queries = q + q_row(a, query, h, WIDTH);
        global const float *dys = dy + o_row(a, query, h, WIDTH);
        const size_t table = near_row(a, query, h, clip);
        const query_stats stats =
            query_stats_of(lse, delta, statistic(a, query, h), a, a.scale);
        scores(s, x, queries, a.q_stride, count);
        scores(dp, g, dys, a.heads * WIDTH, count);
        add_near_queries(s, near + table, apart, count, clip);
        add_near_queries(dp, near_dp + table, apart, count, clip);
        const query_block m = { query, h, first,
                                may_hide(&none, a) &&
                                    block_is_odd(&none, a, s, dp, count,
                                                 query_stats_odd(stats, count)) };
        if (first + rows - 1 > i + e.reach) {
            hide_queries(s, i, count, first, e.reach);
        }
        for (int u = 0; u < count; u += VEC) {
            weigh_queries_as(s + u, dp + u, 0, u, min(count - u, VEC), stats, a, m);
        }
        mix_rows(gz, (const float *)s, y, dys, a.heads * WIDTH, count, factor, m.odd);
        mix_rows(z, (const float *)dp, y, queries, a.q_stride, count, factor, m.odd);
    }
    // in this order: dv adds if keys and values are one tensor
    if (k_mode != GRAD_SKIP) {
        fill(factor, TILE, a.scale);
        store_tile(dk + k_row(a, row, h, WIDTH), a.k_stride, z, rows, factor, k_mode);
    }
    if (v_mode != GRAD_SKIP) {
        fill(factor, TILE, 1.0f);
        store_tile(dv + v_row(a, row, h, WIDTH), a.v_stride, gz, rows, factor, v_mode);
    }
    PRODUCTS_END
}
