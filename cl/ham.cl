/* ham.cl - attention that is repeated, for GPUs; ham_backward.cl is the way back.
 *
 * Layout: as ham.clh.
 * Work-group: 8 x 8 items to 32 rows, see rows_group.clh; grid (runs of 32 rows of the
 *   longest sequence, B).
 * Defines: KEEP, whether the keys of any sequence are at most KEPT numbers: then they
 *   stay in local memory through all levels.
 * Numerics: one softmax over tiles of keys, its sums kept relative to the top so far;
 *   f32 sums in the order of the inner index.
 * Writes: out, levels and lse whole, of the levels that are its own. */
#include "ham.clh"
#include "rows_group.clh"

#ifndef KEEP
#define KEEP 0
#endif
#define KEPT 5600 // as in src/ops/ham.c

#if KEEP
#define KEYS local
LOAD_ROWS(load_keys, local)
LOAD_COLUMNS(load_key_columns, local)
DOT_ROWS(dot_keys, load_keys, local)
MIX_ROWS(mix_keys, load_key_columns, local)
#else
#define KEYS     global
#define dot_keys dot_rows
#define mix_keys mix_rows
#endif

/* What a group works with: p across, and of each row its softmax so far. */
typedef struct ham_space {
    local float *tiles, *p, *top, *sum, *factor;
} ham_space;

/* Products of a tile become weights relative to the new top; factor is what sums of
 * before shrink by. An item to a row; count above 0. */
INLINE void soften(ham_space s, int count, float scale)
{
    const int row = LANE(0);
    if (row < SIDE) {
        float next = s.top[row], sum = 0.0f;
        for (int j = 0; j < count; j++) {
            next = fmax(next, scale * s.p[j * STEP + row]);
        }
        for (int j = 0; j < count; j++) {
            const float e = exp(scale * s.p[j * STEP + row] - next);
            s.p[j * STEP + row] = e;
            sum += e;
        }
        s.factor[row] = exp(s.top[row] - next);
        s.sum[row] = s.sum[row] * s.factor[row] + sum;
        s.top[row] = next;
    }
}

/* A tile of results: to = (before + sum) after, out (+)= w to */
typedef struct ham_store {
    global float *to, *out;
    int rows, columns, width;
    bool fresh, last, add;
    float w;
} ham_store;

INLINE void store_level(float sum[4][4], ham_space s, ham_store t)
{
    for (int i = 0; i < 4; i++) {
        const int row = ROW + i;
        const float all = s.sum[row], after = all > 0.0f ? 1.0f / all : 0.0f;
        for (int j = 0; j < 4; j++) {
            if (row < t.rows && COLUMN + j < t.columns) {
                const size_t at = (size_t)row * t.width + COLUMN + j;
                float z = t.fresh ? sum[i][j] : sum[i][j] + s.factor[row] * t.to[at];
                z = t.last ? z * after : z;
                t.to[at] = z;
                if (t.last) {
                    t.out[at] = t.add ? t.out[at] + t.w * z : t.w * z;
                }
            }
        }
    }
}

/* to = softmax(scale from keys^T) keys, out (+)= w to, for a tile of queries. Ends with
 * a barrier. */
INLINE void attend(ham_space s, ham_store t, global const float *from, int others,
                   KEYS const float *keys, float scale)
{
    global float *const to = t.to, *const out = t.out;
    float sum[4][4];
    if (LANE(0) < SIDE) {
        s.top[LANE(0)] = SCORE_MIN;
        s.sum[LANE(0)] = 0.0f;
    }
    int j = 0;
    do { // once where there is no key: zeros
        const int count = min(SIDE, others - j);
        KEYS const float *block = keys + (size_t)j * t.width;
        dot_keys(sum, from, t.rows, block, count, t.width, s.tiles);
        put_across(s.p, sum);
        barrier(CLK_LOCAL_MEM_FENCE);
        soften(s, count, scale);
        barrier(CLK_LOCAL_MEM_FENCE);
        t.fresh = j == 0;
        t.last = j + SIDE >= others;
        for (int c = 0; c < t.width; c += SIDE) {
            t.to = to + c;
            t.out = out + c;
            t.columns = t.width - c;
            mix_keys(sum, s.p, block + c, count, t.columns, t.width, s.tiles);
            store_level(sum, s, t);
        }
        j += SIDE;
    } while (j < others);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

// q_l for levels first .. last-1, and their part of out
WORK_GROUP(ITEMS, 1, 1)
kernel void ham_forward(global float *restrict out, global float *places,
                        global const float *q, global const float *k,
                        global const float *restrict c,
                        global const int *restrict q_offsets,
                        global const int *restrict k_offsets, ham_args g)
{
    local float tiles[2 * TILE], p[SIDE * STEP], top[SIDE], all[SIDE], factor[SIDE];
    const ham_space s = { tiles, p, top, all, factor };
    const ham_run r = run_of(q_offsets, k_offsets, GROUP(1), GROUP(0) * SIDE, SIDE);
    const level_softmax w = softmax_of(c, g.depth);
    const size_t at = (size_t)r.first * g.width, k_at = (size_t)r.other * g.width;
#if KEEP
    local float kept[KEPT];
    for (int n = LANE(0); n < (r.rows ? r.others * g.width : 0); n += ITEMS) {
        kept[n] = k[k_at + n];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int l = g.first; l < (r.rows ? g.last : g.first); l++) {
        ham_store t;
        t.to = place_of(places, l, g) + at;
        t.out = out + at;
        t.rows = r.rows;
        t.width = g.width;
        t.add = l > 0;
        t.w = weight_of(c, l, w);
        global const float *from = before(places, q, l, g) + at;
#if KEEP
        attend(s, t, from, r.others, kept, g.scale);
#else
        attend(s, t, from, r.others, (g.self ? before(places, k, l, g) : k) + k_at,
               g.scale);
#endif
        if (g.train && LANE(0) < r.rows) {
            lse_of(places, l, g)[r.first + LANE(0)] =
                r.others ? top[LANE(0)] + log(all[LANE(0)]) : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
