/* attention.cl - fused attention, a tile of rows to each work-group (GPUs).
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: WG items, see attention_group.clh; grid (tiles of the longest sequence,
 *             H, B). Trip counts depend on the group only.
 * Defines: WIDTH = d.
 * Numerics: online softmax in f32; backward makes the weights again from lse.
 * Writes: every row of o and lse; every row of the gradients (added to when asked).
 *         A tile belongs to one group and blocks come in order, so two runs give the
 *         same bits. */
#include "attention_group.clh"

/* What a group works on: its tile of one sequence's queries (or keys), and how many
 * rows of the other side it meets. */
typedef struct span {
    int first, rows, row; // in the sequence; how many, <= 0 for none; in the batch
} span;

inline span tile_of(int first, int first_row, int length)
{
    span t;
    t.first = first;
    t.rows = min(length - first, TILE);
    t.row = first_row + first;
    return t;
}

/* w[i][j] *= what dropout keeps of query i's key j. Every item calls it. */
inline void drop_keys(local float *w, attention_args a, int token, int head, int key)
{
    for (int n = LANE(0); n < TILE * BLOCK / 4; n += WG) {
        const int i = n / (BLOCK / 4), j = n % (BLOCK / 4) * 4;
        const float4 keep =
            dropout_keep(a.drop, a.seed, a.step, a.stream, (uint)(token + i),
                         (uint)head, (uint)(key + j) / 4);
        w[i * WEIGHT + j] *= keep.x;
        w[i * WEIGHT + j + 1] *= keep.y;
        w[i * WEIGHT + j + 2] *= keep.z;
        w[i * WEIGHT + j + 3] *= keep.w;
    }
}

/* w[j][i] = what dropout keeps of query i's key j. Every item calls it. */
inline void keep_queries(local float *w, attention_args a, int token, int head, int key)
{
    for (int n = LANE(0); n < TILE * BLOCK / 4; n += WG) {
        const int i = n % BLOCK, j = n / BLOCK * 4;
        float4 keep = (float4)(1.0f);
        if (a.drop > 0.0f) {
            keep = dropout_keep(a.drop, a.seed, a.step, a.stream, (uint)(token + i),
                                (uint)head, (uint)(key + j) / 4);
        }
        w[j * WEIGHT + i] = keep.x;
        w[(j + 1) * WEIGHT + i] = keep.y;
        w[(j + 2) * WEIGHT + i] = keep.z;
        w[(j + 3) * WEIGHT + i] = keep.w;
    }
}

/* s = what query rows see of keys j ..; NEVER for what they do not. */
inline void hide_keys(float s[R][C], int count, int j, int query, int reach)
{
    const int tx = LANE(0) % ACROSS, ty = LANE(0) / ACROSS;
#pragma unroll
    for (int u = 0; u < R; u++) {
#pragma unroll
        for (int n = 0; n < C; n++) {
            const int i = ty + DOWN * u, key = tx + ACROSS * n;
            const bool seen = key < count && j + key <= query + i + reach;
            s[u][n] = seen ? s[u][n] : NEVER;
        }
    }
}

/* The running maximum and sum of a tile's rows, kept by the first TILE items. */
typedef struct row_state {
    float top, total;
} row_state;

/* Brings the rows up to date with w, scores [TILE][WEIGHT], which become weights;
 * what was summed before shrinks by fade[i]. Every item calls it, after a barrier. */
inline void weigh(local float *w, local float *fade, local float *tops,
                  row_state *state)
{
    const int lid = LANE(0);
    if (lid < TILE) {
        float high = state->top;
        for (int j = 0; j < BLOCK; j++) {
            high = fmax(high, w[lid * WEIGHT + j]);
        }
        tops[lid] = high;
        fade[lid] = exp(state->top - high);
        state->top = high;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = lid; n < TILE * BLOCK; n += WG) {
        const int i = n / BLOCK, at = i * WEIGHT + n % BLOCK;
        w[at] = exp(w[at] - tops[i]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < TILE) {
        float sum = 0.0f;
        for (int j = 0; j < BLOCK; j++) {
            sum += w[lid * WEIGHT + j];
        }
        state->total = state->total * fade[lid] + sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// o_i = sum_j p_ij v_j, lse_i = m_i + ln(sum_j exp(s_ij - m_i)); lse may be null
WORK_GROUP(WG, 1, 1)
kernel void attention_forward(global float *restrict o, global float *restrict lse,
                              global const float *restrict q,
                              global const float *restrict k,
                              global const float *restrict v,
                              global const int *restrict q_offsets,
                              global const int *restrict k_offsets, attention_args a)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    local float fade[TILE], tops[TILE];
    const int lid = LANE(0), h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const span t = tile_of(GROUP(0) * TILE, e.q_first, e.T);
    const int end = t.rows > 0 ? clamp(t.first + t.rows + e.reach, 0, e.S) : 0;
    float z[R][COLUMNS], s[R][C];
    row_state state = { SCORE_MIN, 0.0f };
    clear(z);
    load_rows(x, TILE, q + q_row(a, t.row, h, WIDTH), a.q_stride, t.rows);
    for (int j = 0; j < end; j += BLOCK) {
        const int count = min(end - j, BLOCK), key = e.k_first + j;
        barrier(CLK_LOCAL_MEM_FENCE);
        load_rows(y, BLOCK, k + k_row(a, key, h, WIDTH), a.k_stride, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(s, x, y, a.scale);
        hide_keys(s, count, j, t.first, e.reach);
        put(w, s);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_rows(y, BLOCK, v + v_row(a, key, h, WIDTH), a.v_stride, count);
        weigh(w, fade, tops, &state);
        if (a.drop > 0.0f) {
            drop_keys(w, a, t.row, h, j);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        shrink(z, fade);
        mix(z, w, y);
    }
    const bool some = state.total > 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < TILE) {
        fade[lid] = some ? 1.0f / state.total : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    shrink(z, fade);
    store_tile(o + o_row(a, t.row, h, WIDTH), a.heads * WIDTH, z, t.rows, 1.0f,
               GRAD_WRITE);
    if (lse && lid < t.rows) {
        lse[statistic(a, t.row + lid, h)] = some ? state.top + log(state.total) : 0.0f;
    }
}

/* w = p (w - delta), from s = <q,k> scaled and w = keep <dO,v>; rows are queries. */
inline void weigh_keys(local float *w, float s[R][C], global const float *lse,
                       global const float *delta, int rows)
{
    const int tx = LANE(0) % ACROSS, ty = LANE(0) / ACROSS;
#pragma unroll
    for (int u = 0; u < R; u++) {
        const int i = ty + DOWN * u, safe = min(i, rows - 1);
        const float lse_i = lse[safe], delta_i = delta[safe];
#pragma unroll
        for (int n = 0; n < C; n++) {
            const int at = i * WEIGHT + tx + ACROSS * n;
            w[at] = exp(s[u][n] - lse_i) * (w[at] - delta_i);
        }
    }
}

// dq_i += scale sum_j ds_ij k_j, ds_ij = p_ij (keep_ij <dO_i, v_j> - delta_i)
WORK_GROUP(WG, 1, 1)
kernel void attention_grad_q(
    global float *dq, global const float *restrict dy, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict lse, global const float *restrict delta,
    global const int *restrict q_offsets, global const int *restrict k_offsets,
    attention_args a, int mode)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    const int h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const span t = tile_of(GROUP(0) * TILE, e.q_first, e.T);
    const int end = t.rows > 0 ? clamp(t.first + t.rows + e.reach, 0, e.S) : 0;
    const size_t at = statistic(a, t.row, h);
    float z[R][COLUMNS], s[R][C], dp[R][C];
    clear(z);
    for (int j = 0; j < end; j += BLOCK) {
        const int count = min(end - j, BLOCK), key = e.k_first + j;
        global const float *keys = k + k_row(a, key, h, WIDTH);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_rows(x, TILE, q + q_row(a, t.row, h, WIDTH), a.q_stride, t.rows);
        load_rows(y, BLOCK, keys, a.k_stride, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(s, x, y, a.scale);
        hide_keys(s, count, j, t.first, e.reach);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_rows(x, TILE, dy + o_row(a, t.row, h, WIDTH), a.heads * WIDTH, t.rows);
        load_rows(y, BLOCK, v + v_row(a, key, h, WIDTH), a.v_stride, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(dp, x, y, 1.0f);
        put(w, dp);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_rows(y, BLOCK, keys, a.k_stride, count);
        if (a.drop > 0.0f) {
            drop_keys(w, a, t.row, h, j);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        weigh_keys(w, s, lse + at, delta + at, t.rows);
        barrier(CLK_LOCAL_MEM_FENCE);
        mix(z, w, y);
    }
    store_tile(dq + q_row(a, t.row, h, WIDTH), a.q_stride, z, t.rows, a.scale, mode);
}

/* dp = p (keep dp - delta) and w = keep p, from s = <q,k> scaled, dp = <dO,v> and
 * w = keep; rows are keys, columns queries. */
inline void weigh_queries(local float *w, float s[R][C], float dp[R][C],
                          global const float *lse, global const float *delta, int count)
{
    const int tx = LANE(0) % ACROSS, ty = LANE(0) / ACROSS;
#pragma unroll
    for (int n = 0; n < C; n++) {
        const int i = tx + ACROSS * n, safe = min(i, count - 1);
        const float lse_i = lse[safe], delta_i = delta[safe];
#pragma unroll
        for (int u = 0; u < R; u++) {
            const int at = (ty + DOWN * u) * WEIGHT + i;
            const float p = exp(s[u][n] - lse_i), keep = w[at];
            w[at] = p * keep;
            dp[u][n] = p * (dp[u][n] * keep - delta_i);
        }
    }
}

/* s = what queries i .. see of the keys in rows; NEVER for what they do not. */
inline void hide_queries(float s[R][C], int count, int i, int first, int reach)
{
    const int tx = LANE(0) % ACROSS, ty = LANE(0) / ACROSS;
#pragma unroll
    for (int u = 0; u < R; u++) {
#pragma unroll
        for (int n = 0; n < C; n++) {
            const int key = ty + DOWN * u, query = tx + ACROSS * n;
            const bool seen = query < count && first + key <= i + query + reach;
            s[u][n] = seen ? s[u][n] : NEVER;
        }
    }
}

// dk_j += scale sum_i ds_ij q_i, dv_j += sum_i keep_ij p_ij dO_i
WORK_GROUP(WG, 1, 1)
kernel void attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int k_mode, int v_mode)
{
    local float x[TILE * LINE], y[BLOCK * LINE], w[TILE * WEIGHT];
    const int h = GROUP(1);
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const span t = tile_of(GROUP(0) * TILE, e.k_first, e.S);
    const int begin = max(t.first - e.reach, 0), end = t.rows > 0 ? e.T : 0;
    float z[R][COLUMNS], gz[R][COLUMNS], s[R][C], dp[R][C];
    clear(z);
    clear(gz);
    for (int i = begin; i < end; i += BLOCK) {
        const int count = min(end - i, BLOCK), query = e.q_first + i;
        global const float *queries = q + q_row(a, query, h, WIDTH);
        const size_t at = statistic(a, query, h);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_rows(x, TILE, k + k_row(a, t.row, h, WIDTH), a.k_stride, t.rows);
        load_rows(y, BLOCK, queries, a.q_stride, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(s, x, y, a.scale);
        hide_queries(s, count, i, t.first, e.reach);
        barrier(CLK_LOCAL_MEM_FENCE);
        load_rows(x, TILE, v + v_row(a, t.row, h, WIDTH), a.v_stride, t.rows);
        load_rows(y, BLOCK, dy + o_row(a, query, h, WIDTH), a.heads * WIDTH, count);
        keep_queries(w, a, query, h, t.first);
        barrier(CLK_LOCAL_MEM_FENCE);
        scores(dp, x, y, 1.0f);
        weigh_queries(w, s, dp, lse + at, delta + at, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        mix(gz, w, y);
        barrier(CLK_LOCAL_MEM_FENCE);
        put(w, dp);
        load_rows(y, BLOCK, queries, a.q_stride, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        mix(z, w, y);
    }
    store_tile(dv + v_row(a, t.row, h, WIDTH), a.v_stride, gz, t.rows, 1.0f, v_mode);
    store_tile(dk + k_row(a, t.row, h, WIDTH), a.k_stride, z, t.rows, a.scale, k_mode);
}
