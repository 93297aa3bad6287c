/* relative_attention.cl - attention with biases by distance; each work-group has a tile
 * of rows (GPUs).
 *
 * Layout: as attention.clh; near, near_dp and sums as relative_attention.clh; offsets
 *         [B+1].
 * Work-group: WG items, see attention_group.clh; grid (tiles of the longest sequence,
 *             H, B). Trip counts around barriers depend on the group only.
 * Defines: WIDTH = d.
 * Numerics: online softmax in f32; backward recomputes the weights from lse.
 * Writes: every row of o, lse and sums; every row of the gradients (added to with
 *         GRAD_ADD). A tile belongs to one group, and a sum to one of its items, so two
 *         runs give the same bits. */
#include "attention_pass_group.clh"
#include "relative_attention.clh"

/* s += near, the tile's queries in rows, keys in columns; apart is the distance
 * from the tile's first query to the first key. */
INLINE void add_near(float s[R][C], global const float *near, int apart, int rows,
                     int count, int clip)
{
    const int tx = LANE(0) % ACROSS, ty = LANE(0) / ACROSS;
#pragma unroll
    for (int u = 0; u < R; u++) {
#pragma unroll
        for (int n = 0; n < C; n++) {
            const int i = ty + DOWN * u, j = tx + ACROSS * n;
            if (i < rows && j < count) {
                s[u][n] += near[i * (2 * clip + 1) + near_number(apart + j - i, clip)];
            }
        }
    }
}

/* s += near, the tile's keys in rows, queries in columns; apart is the distance
 * from the first query to the tile's first key. */
INLINE void add_near_queries(float s[R][C], global const float *near, int apart,
                             int rows, int count, int clip)
{
    const int tx = LANE(0) % ACROSS, ty = LANE(0) / ACROSS;
#pragma unroll
    for (int u = 0; u < R; u++) {
#pragma unroll
        for (int n = 0; n < C; n++) {
            const int j = ty + DOWN * u, i = tx + ACROSS * n;
            if (j < rows && i < count) {
                s[u][n] += near[i * (2 * clip + 1) + near_number(apart + j - i, clip)];
            }
        }
    }
}

/* Clears the sums of a tile's queries. Here and below, element n belongs to the same
 * item. */
INLINE void clear_sums(global float *sums, int rows, int clip)
{
    for (int n = LANE(0); n < rows * (2 * clip + 1); n += WG) {
        sums[n] = 0.0f;
    }
}

/* Multiplies the sums of query i by fade[i]; a sum of 0 is of no key, and stays. */
INLINE void fade_sums(global float *sums, local const float *fade, int rows, int clip)
{
    for (int n = LANE(0); n < rows * (2 * clip + 1); n += WG) {
        sums[n] = sums[n] == 0.0f ? 0.0f : sums[n] * fade[n / (2 * clip + 1)];
    }
}

INLINE void scale_sums(global float *sums, float by, int rows, int clip)
{
    for (int n = LANE(0); n < rows * (2 * clip + 1); n += WG) {
        sums[n] *= by;
    }
}

/* Adds weights w [TILE][WEIGHT] of count keys to the sums of their distances. */
INLINE void add_sums_near(global float *sums, local const float *w, int apart, int rows,
                          int count, int clip)
{
    for (int n = LANE(0); n < rows * (2 * clip + 1); n += WG) {
        const int i = n / (2 * clip + 1), at = n % (2 * clip + 1);
        const int key = i + at - clip - apart; // the key at this distance
        const int begin = at == 0 ? 0 : max(key, 0);
        const int end = at == 2 * clip ? count : min(key + 1, count);
        float sum = 0.0f;
        for (int j = begin; j < end; j++) {
            sum += w[i * WEIGHT + j];
        }
        sums[n] += sum;
    }
}

// o_i = sum_j p_ij v_j, p = softmax(scale (<q_i,k_j> + near_i,j-i)), sums_in = the sum
// of p_ij over the keys at distance n; lse may be null
WORK_GROUP(WG, 1, 1)
kernel void relative_attention_forward(
    global float *restrict o, global float *restrict lse, global float *restrict sums,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict near,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    global const float *restrict rel, global float *restrict finite, attention_args a,
    int clip)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    local float fade[TILE], tops[TILE];
    const int h = GROUP(1), lid = LANE(0);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    copy_finite(finite, rel, (2 * clip + 1) * WIDTH, WG);
    const span t = tile_of(GROUP(0) * TILE, e.q_first, e.T);
    const int end = t.rows > 0 ? clamp(t.first + t.rows + e.reach, 0, e.S) : 0;
    float z[R][COLUMNS], s[R][C];
    row_state state = { SCORE_MIN, 0.0f, a.scale };
    near += near_row(a, t.row, h, clip);
    sums += near_row(a, t.row, h, clip);
    clear(z);
    clear_sums(sums, t.rows, clip);
    load_rows(x, TILE, q + q_row(a, t.row, h, WIDTH), a.q_stride, t.rows);
    for (int j = 0; TOGETHER(j < end); j += BLOCK) {
        const int count = min(end - j, BLOCK), key = e.k_first + j;
        const int apart = j - t.first - (e.S - e.T);
        barrier(CLK_LOCAL_MEM_FENCE);
        begin_block(w);
        load_rows(y, BLOCK, k + k_row(a, key, h, WIDTH), a.k_stride, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(s, x, y);
        add_near(s, near, apart, t.rows, count, clip);
        hide_keys(s, count, j, t.first, e.reach);
        put(w, s);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_mixed(y, BLOCK, v + v_row(a, key, h, WIDTH), a.v_stride, count, w);
        weigh(w, fade, tops, &state);
        if (a.drop > 0.0f) {
            drop_keys(w, a, t.row, h, j);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        fade_sums(sums, fade, t.rows, clip);
        add_sums_near(sums, w, apart, t.rows, count, clip);
        shrink(z, fade);
        mix_values(z, w, y);
    }
    const float share = state_end(&state, lse, t, h, a);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < TILE) {
        fade[lid] = share;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    shrink(z, fade);
    fade_sums(sums, fade, t.rows, clip);
    store_tile(o + o_row(a, t.row, h, WIDTH), a.heads * WIDTH, z, t.rows, 1.0f,
               GRAD_WRITE);
}

// ds_ij = p_ij (keep_ij (<dO_i,v_j> + near_dp_i,j-i) - delta_i):
//   dq_i (+)= scale sum_j ds_ij k_j, sums_in = the sum of scale ds_ij over the keys at
//   distance n
WORK_GROUP(WG, 1, 1)
kernel void relative_attention_grad_q(
    global float *dq, global float *restrict sums, global float *delta,
    global const float *restrict dy, global const float *restrict o,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict near, global const float *restrict near_dp,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    global const float *restrict rel, global float *restrict finite, attention_args a,
    int clip, int mode)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    const int h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    copy_finite(finite, rel, (2 * clip + 1) * WIDTH, WG);
    const span t = tile_of(GROUP(0) * TILE, e.q_first, e.T);
    const int end = t.rows > 0 ? clamp(t.first + t.rows + e.reach, 0, e.S) : 0;
    const row_stats stats = stats_of(lse, delta, statistic(a, t.row, h), a, a.scale);
    float z[R][COLUMNS], s[R][C], dp[R][C];
    near += near_row(a, t.row, h, clip);
    near_dp += near_row(a, t.row, h, clip);
    sums += near_row(a, t.row, h, clip);
    const size_t out = o_row(a, t.row, h, WIDTH);
    note_deltas(delta + statistic(a, t.row, h), dy + out, o + out, a.heads * WIDTH,
                t.rows, w);
    clear(z);
    clear_sums(sums, t.rows, clip);
    for (int j = 0; TOGETHER(j < end); j += BLOCK) {
        const int count = min(end - j, BLOCK), key = e.k_first + j;
        const int apart = j - t.first - (e.S - e.T);
        global const float *keys = k + k_row(a, key, h, WIDTH);
        barrier(CLK_LOCAL_MEM_FENCE);
        begin_block(w);
        load_rows(x, TILE, q + q_row(a, t.row, h, WIDTH), a.q_stride, t.rows);
        load_rows(y, BLOCK, keys, a.k_stride, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(s, x, y);
        add_near(s, near, apart, t.rows, count, clip);
        hide_keys(s, count, j, t.first, e.reach);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_rows(x, TILE, dy + out, a.heads * WIDTH, t.rows);
        load_rows(y, BLOCK, v + v_row(a, key, h, WIDTH), a.v_stride, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(dp, x, y);
        add_near(dp, near_dp, apart, t.rows, count, clip);
        put(w, dp);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_mixed(y, BLOCK, keys, a.k_stride, count, w);
        if (a.drop > 0.0f) {
            drop_keys(w, a, t.row, h, j);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        weigh_keys(w, s, stats, t.rows);
        barrier(CLK_LOCAL_MEM_FENCE);
        add_sums_near(sums, w, apart, t.rows, count, clip);
        mix_values(z, w, y);
    }
    scale_sums(sums, a.scale, t.rows, clip);
    store_tile(dq + q_row(a, t.row, h, WIDTH), a.q_stride, z, t.rows, a.scale, mode);
}

// dk_j (+)= scale sum_i ds_ij q_i, dv_j (+)= sum_i keep_ij p_ij dO_i
WORK_GROUP(WG, 1, 1)
kernel void relative_attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const float *restrict near,
    global const float *restrict near_dp, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int clip, int k_mode,
    int v_mode)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    const int h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const span t = tile_of(GROUP(0) * TILE, e.k_first, e.S);
    const int begin = max(t.first - e.reach, 0), end = t.rows > 0 ? e.T : 0;
    float z[R][COLUMNS], gz[R][COLUMNS], s[R][C], dp[R][C];
    clear(z);
    clear(gz);
    for (int i = begin; TOGETHER(i < end); i += BLOCK) {
        const int count = min(end - i, BLOCK), query = e.q_first + i;
        const int apart = t.first - i - (e.S - e.T);
        global const float *queries = q + q_row(a, query, h, WIDTH);
        const size_t table = near_row(a, query, h, clip);
        const row_stats stats =
            stats_of(lse, delta, statistic(a, query, h), a, a.scale);
        barrier(CLK_LOCAL_MEM_FENCE);
        begin_block(w);
        load_rows(x, TILE, k + k_row(a, t.row, h, WIDTH), a.k_stride, t.rows);
        load_rows(y, BLOCK, queries, a.q_stride, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(s, x, y);
        add_near_queries(s, near + table, apart, t.rows, count, clip);
        hide_queries(s, count, i, t.first, e.reach);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_rows(x, TILE, v + v_row(a, t.row, h, WIDTH), a.v_stride, t.rows);
        load_mixed(y, BLOCK, dy + o_row(a, query, h, WIDTH), a.heads * WIDTH, count, w);
        keep_queries(w, a, query, h, t.first);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(dp, x, y);
        add_near_queries(dp, near_dp + table, apart, t.rows, count, clip);
        weigh_queries_as(w, s, dp, 0, stats, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        mix_values(gz, w, y);
        barrier(CLK_LOCAL_MEM_FENCE);
        put(w, dp);
        load_mixed(y, BLOCK, queries, a.q_stride, count, w);
        barrier(CLK_LOCAL_MEM_FENCE);
        mix_values(z, w, y);
    }
    // in this order: dv adds if keys and values are one tensor
    store_tile(dk + k_row(a, t.row, h, WIDTH), a.k_stride, z, t.rows, a.scale, k_mode);
    store_tile(dv + v_row(a, t.row, h, WIDTH), a.v_stride, gz, t.rows, 1.0f, v_mode);
}
