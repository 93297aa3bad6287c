/* ham.cl - repeated attention (Ham) for GPUs, forward; ham_backward.cl has the backward
 * pass.
 *
 * Layout: as ham.clh.
 * Work-group: TM rows, see rows_group.clh; grid (runs of TM rows of the longest
 *   sequence, B). The first team makes the weights, and all share the columns of their
 *   sums.
 * Defines: those of rows_group.clh.
 * Numerics: online softmax over key tiles; f32 sums in the order of the inner index.
 * Writes: levels, top and share of this launch whole; out whole, added to after level
 * 0. */
#include "ham.clh"
#include "rows_group.clh"

#define RED (ACROSS + 1)

INLINE float most_of(float4 x)
{
    return fmax(fmax(x.x, x.y), fmax(x.z, x.w));
}
INLINE float sum_of(float4 x)
{
    return x.x + x.y + x.z + x.w;
}

/* Local memory of a group: tiles; the weights p, transposed; and for each row the
 * largest score and the sum of weights so far, and the factor that rescales earlier
 * sums. */
typedef struct ham_space {
    local float *tiles, *p, *top, *sum, *factor;
} ham_space;

#if QN == 2
#define TWO_OF(score, TWO, row) TWO((score)->s00.row, (score)->s01.row)
#else
#define TWO_OF(score, TWO, row) (score)->s00.row
#endif

/* red[row][item] = MOST of the item's numbers of each row, which TWO combines first */
#define TELL_ROWS(score, TWO, MOST)                                                   \
    if (HAS_SUMS) {                                                                   \
        red[ROW_OF(0) * RED + LANE(0) % ACROSS] = MOST(TWO_OF(score, TWO, r0));       \
        red[(ROW_OF(0) + 1) * RED + LANE(0) % ACROSS] = MOST(TWO_OF(score, TWO, r1)); \
        red[(ROW_OF(0) + 2) * RED + LANE(0) % ACROSS] = MOST(TWO_OF(score, TWO, r2)); \
        red[(ROW_OF(0) + 3) * RED + LANE(0) % ACROSS] = MOST(TWO_OF(score, TWO, r3)); \
    }

/* Updates each row's largest score and sets the factor that rescales earlier sums. Ends
 * with a barrier. */
INLINE void find_tops(ham_space s, const sums *score)
{
    local float *red = s.tiles;
    const int row = GROUP_ITEM;
    TELL_ROWS(score, fmax, most_of)
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row < TM) {
        float top = s.top[row];
        for (int n = 0; n < ACROSS; n++) {
            top = fmax(top, red[row * RED + n]);
        }
        s.factor[row] = exp(s.top[row] - top);
        s.top[row] = top;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Adds the weights to the rows' rescaled sums. Ends with a barrier. */
INLINE void add_weights(ham_space s, const sums *weight)
{
    local float *red = s.tiles;
    const int row = GROUP_ITEM;
#define PLUS(a, b) ((a) + (b))
    TELL_ROWS(weight, PLUS, sum_of)
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row < TM) {
        float sum = s.sum[row] * s.factor[row];
        for (int n = 0; n < ACROSS; n++) {
            sum += red[row * RED + n];
        }
        s.sum[row] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Turns the products of a tile into weights relative to the new largest score, 0 from
 * column count on, in registers and in p. Ends with a barrier. */
INLINE void soften(ham_space s, sums *score, int count, float scale)
{
#define HIDE(z, row, column)                   \
    z = select((float4)(-INFINITY), z * scale, \
               (int4)(0, 1, 2, 3) < (int4)(count - column));
    EACH_ROW(HIDE, (*score))
    find_tops(s, score);
#define WEIGH(z, row, column) z = exp(z - s.top[row]);
    EACH_ROW(WEIGH, (*score))
    if (HAS_SUMS) {
        put_across(s.p, score);
    }
    add_weights(s, score);
}

/* Where a tile of results goes: to = sum + factor to, or sum if fresh; the last tile of
 * keys divides by the sum of weights and sets out (+)= w to. */
typedef struct ham_store {
    global float *to, *out;
    int rows, columns, width;
    bool fresh, last, add;
    float w;
} ham_store;

INLINE void store_four(float4 z, ham_space s, ham_store t, int row, int column)
{
    const int left = row < t.rows ? t.columns - column : 0;
    const size_t at = (size_t)row * t.width + column;
    if (left > 0 && !t.fresh) {
        z += s.factor[row] * quad_at(t.to + at, left);
    }
    if (t.last) {
        z *= share_in(s.sum[row]);
        quad_store(t.out + at, t.w * z, left, t.add);
    }
    quad_store(t.to + at, z, left, false);
}

/* to = softmax(scale from keys^T) keys, out (+)= w to, for a tile of queries. Ends with
 * a barrier. */
INLINE void attend(ham_space s, ham_store t, global const float *from, int others,
                   global const float *keys, float scale)
{
    global float *const to = t.to, *const out = t.out;
    const matrix queries = matrix_of(from, t.width, t.rows, t.width);
    sums sum;
    if (GROUP_ITEM < TM) {
        s.top[GROUP_ITEM] = SCORE_MIN;
        s.sum[GROUP_ITEM] = 0.0f;
    }
    int j = 0;
    do { // one round even without keys, to write zeros
        const int count = min(TN, others - j);
        const matrix block =
            matrix_of(keys + (size_t)j * t.width, t.width, count, t.width);
        dot_rows(&sum, queries, block, s.tiles);
        soften(s, &sum, count, scale);
        t.fresh = j == 0;
        t.last = j + TN >= others;
        for (int first = 0; TOGETHER(first < t.width); first += TEAMS * TN) {
            const int c = first + OWN_TEAM * TN;
            t.to = to + c;
            t.out = out + c;
            t.columns = t.width - c;
            sums_clear(&sum);
            mix_rows(&sum, s.p, block, c, s.tiles);
#define LEVEL(z, row, column) store_four(z, s, t, row, column);
            EACH_ROW(LEVEL, sum)
        }
        j += TN;
    } while (j < others);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

// q_l for levels first .. last-1; out (+)= w_l q_l
WORK_GROUP(ITEMS, TEAMS, 1)
kernel void ham_forward(global float *restrict out, global float *places,
                        global const float *q, global const float *k,
                        global const float *restrict c,
                        global const int *restrict q_offsets,
                        global const int *restrict k_offsets, ham_args g)
{
    local float tiles[TEAMS * TILES] __attribute__((aligned(16)));
    local float p[P_SIZE] __attribute__((aligned(16)));
    local float top[TM], all[TM], factor[TM];
    const ham_space s = { tiles, p, top, all, factor };
    const ham_run r = run_of(q_offsets, k_offsets, GROUP(1), GROUP(0) * TM, TM);
    const level_softmax w = softmax_of(c, g.depth);
    const size_t at = (size_t)r.first * g.width, k_at = (size_t)r.other * g.width;
    for (int l = g.first; TOGETHER(l < (r.rows ? g.last : g.first)); l++) {
        ham_store t;
        t.to = place_of(places, l, g) + at;
        t.out = out + at;
        t.rows = r.rows;
        t.width = g.width;
        t.add = l > 0;
        t.w = weight_of(c, l, w);
        global const float *from = before(places, q, l, g) + at;
        attend(s, t, from, r.others, (g.self ? before(places, k, l, g) : k) + k_at,
               g.scale);
        if (g.train && GROUP_ITEM < r.rows) {
            const int row = GROUP_ITEM;
            top_of(places, l, g)[r.first + row] = top[row];
            share_of(places, l, g)[r.first + row] = share_in(all[row]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
