/* ham_tile.cl - repeated attention (Ham) for CPU devices; each work-item has a run of
 * rows.
 *
 * Layout: as ham.clh.
 * Work-group: 1 item; grid (runs of RUN rows of the longest sequence, B).
 * Defines: VEC, the native width; MR, rows of a register tile.
 * Numerics: online softmax over blocks of keys; f32 sums in the order of the inner
 *   index, cut every BLOCK.
 * Writes: each kernel's outputs whole, of this launch's levels; out is added to after
 *   level 0; dq and dk as mode says. */
#include "ham.clh"
#include "rows_tile.clh"

/* Turns the scores of a block into weights relative to the new largest score; returns
 * the factor that rescales earlier sums. */
INLINE float soften(float *p, int count, float *top, float *sum)
{
    const int vectors = (count + VEC - 1) / VEC;
    for (int j = count; j < vectors * VEC; j++) {
        p[j] = -INFINITY; // its weight is 0
    }
    floatv most = (floatv)(SCORE_MIN), total = (floatv)(0.0f);
    for (int n = 0; n < vectors; n++) {
        most = fmax(most, loadv(n, p));
    }
    const float next = fmax(*top, max_lanes(most)), factor = exp_fast(*top - next);
    for (int n = 0; n < vectors; n++) {
        const floatv e = exp_fastv(loadv(n, p) - next);
        storev(e, n, p);
        total += e;
    }
    *top = next;
    *sum = *sum * factor + sum_lanes(total);
    return factor;
}

/* to = softmax(scale from keys^T) keys for a run of rows; tops and shares, which may be
 * null, are the parts of each row's weights, as ham.clh has them */
INLINE void attend(global float *to, global float *tops, global float *shares,
                   global const float *from, const ham_run r, global const float *keys,
                   const ham_args g)
{
    float p[RUN * BLOCK], top[RUN], sum[RUN], keep[RUN], after[RUN];
    for (int i = 0; i < RUN; i++) {
        top[i] = SCORE_MIN;
        sum[i] = keep[i] = after[i] = 0.0f;
    }
    int j = 0;
    do { // one round even without keys, to write zeros
        const int count = min(BLOCK, r.others - j);
        const bool last = j + BLOCK >= r.others;
        global const float *block = keys + (size_t)j * g.width;
        dot_rows(p, from, r.rows, block, count, g.width, g.scale);
        for (int i = 0; i < (count > 0 ? r.rows : 0); i++) {
            const float factor = soften(p + i * BLOCK, count, &top[i], &sum[i]);
            keep[i] = j ? factor : 0.0f;
            after[i] = last ? share_in(sum[i]) : 1.0f;
        }
        mix_rows(to, r.rows, keep, after, p, block, count, g.width);
        j += BLOCK;
    } while (j < r.others);
    for (int i = 0; i < (tops ? r.rows : 0); i++) {
        tops[i] = top[i];
        shares[i] = share_in(sum[i]);
    }
}

// q_l for levels first .. last-1; out (+)= w_l q_l
WORK_GROUP(1, 1, 1)
kernel void ham_forward(global float *restrict out, global float *places,
                        global const float *q, global const float *k,
                        global const float *restrict c,
                        global const int *restrict q_offsets,
                        global const int *restrict k_offsets, ham_args g)
{
    const ham_run r = run_of(q_offsets, k_offsets, GROUP(1), GROUP(0) * RUN, RUN);
    const level_softmax w = softmax_of(c, g.depth);
    const size_t at = (size_t)r.first * g.width, k_at = (size_t)r.other * g.width;
    for (int l = g.first; l < (r.rows ? g.last : g.first); l++) {
        global const float *from = before(places, q, l, g) + at;
        global const float *keys = g.self ? before(places, k, l, g) : k;
        global float *to = place_of(places, l, g) + at;
        attend(to, g.train ? top_of(places, l, g) + r.first : 0,
               share_of(places, l, g) + r.first, from, r, keys + k_at, g);
        add_scaled(out + at, to, weight_of(c, l, w), r.rows * g.width, l > 0);
    }
}

/* What backward needs of each query: the parts of its weights, and delta. */
typedef struct ham_rows {
    global const float *top, *share, *delta;
} ham_rows;

INLINE ham_rows rows_of(global float *places, global float *grads, int first, int l,
                        ham_args g)
{
    ham_rows s;
    s.top = top_of(places, l, g) + first;
    s.share = share_of(places, l, g) + first;
    s.delta = delta_of(grads, l, g) + first;
    return s;
}

/* Turns scores p of query i into their gradients: p = scale a (da - delta), a = exp(p -
 * top) share. */
INLINE void back_through(float *p, const float *da, int count, const ham_rows s, int i,
                         float scale)
{
    const float top = s.top[i], factor = scale * s.share[i], delta = s.delta[i];
    for (int j = 0; j < count; j += VEC) {
        const floatv a = exp_fastv(loadv(0, p + j) - top);
        storev(factor * a * (loadv(0, da + j) - delta), 0, p + j);
    }
}

/* Zeroes the rest of each row's last vector, which back_through reads although its
 * result is not used. */
INLINE void clear_ends(float *p, int rows, int count)
{
    for (int i = 0; i < rows; i++) {
        for (int j = count; j % VEC; j++) {
            p[i * BLOCK + j] = 0.0f;
        }
    }
}

/* to = ds keys, added to unless fresh; ds from the queries `from` and grad, the
 * gradient of their results */
INLINE void attend_back(global float *to, bool fresh, global const float *from,
                        global const float *grad, const ham_rows s, const ham_run r,
                        global const float *keys, const ham_args g)
{
    float p[RUN * BLOCK], da[RUN * BLOCK], keep[RUN], after[RUN];
    for (int i = 0; i < RUN; i++) {
        keep[i] = fresh ? 0.0f : 1.0f;
        after[i] = 1.0f;
    }
    int j = 0;
    do { // one round even without keys, to write zeros
        const int count = min(BLOCK, r.others - j);
        global const float *block = keys + (size_t)j * g.width;
        dot_rows(p, from, r.rows, block, count, g.width, g.scale);
        dot_rows(da, grad, r.rows, block, count, g.width, 1.0f);
        clear_ends(p, r.rows, count);
        clear_ends(da, r.rows, count);
        for (int i = 0; i < r.rows; i++) {
            back_through(p + i * BLOCK, da + i * BLOCK, count, s, i, g.scale);
        }
        mix_rows(to, r.rows, keep, after, p, block, count, g.width);
        for (int i = 0; i < RUN; i++) {
            keep[i] = 1.0f;
        }
        j += BLOCK;
    } while (j < r.others);
}

/* Computes delta of a run of rows; returns their part of the gradient of w_l. */
INLINE float note_delta(global float *delta, global const float *grad,
                        global const float *dy, global const float *level,
                        global const float *first, int rows, int width)
{
    float sum = 0.0f;
    for (int i = 0; i < rows; i++) {
        const size_t at = (size_t)i * width;
        delta[i] = dot_one(grad + at, level + at, width);
        sum += dot_apart(dy + at, level + at, first + at, width);
    }
    return sum;
}

/* Gradients of the queries of levels last-1 .. first, in this order. G of the last
 * level is w dy:
 *   G_(l-1) = w_(l-1) dy + scale (p_l (G_l k - delta_l)) k, where G_(-1) is dq, without
 *   the term of dy */
WORK_GROUP(1, 1, 1)
kernel void ham_back_queries(global float *restrict dq, global float *grads,
                             global float *places, global const float *q,
                             global const float *k, global const float *restrict c,
                             global const float *restrict dy,
                             global const int *restrict q_offsets,
                             global const int *restrict k_offsets, ham_args g)
{
    const ham_run r = run_of(q_offsets, k_offsets, GROUP(1), GROUP(0) * RUN, RUN);
    const level_softmax w = softmax_of(c, g.depth);
    const size_t at = (size_t)r.first * g.width, k_at = (size_t)r.other * g.width;
    if (g.last == g.depth && r.rows) {
        add_scaled(grad_of(grads, g.last - 1, g) + at, dy + at,
                   weight_of(c, g.last - 1, w), r.rows * g.width, 0);
    }
    for (int l = g.last - 1; l >= g.first; l--) {
        global const float *grad = grad_of(grads, l, g) + at;
        global float *delta = delta_of(grads, l, g) + r.first;
        partial_of(grads, l, g)[GROUP(1) * g.runs + GROUP(0)] =
            note_delta(delta, grad, dy + at, place_of(places, l, g) + at,
                       place_of(places, 0, g) + at, r.rows, g.width);
        if (l) {
            add_scaled(grad_of(grads, l - 1, g) + at, dy + at, weight_of(c, l - 1, w),
                       r.rows * g.width, 0);
        }
        if (r.rows && (l || g.mode != GRAD_SKIP)) {
            global const float *keys = g.self ? before(places, k, l, g) : k;
            attend_back(l ? grad_of(grads, l - 1, g) + at : dq + at,
                        l == 0 && g.mode == GRAD_WRITE, before(places, q, l, g) + at,
                        grad, rows_of(places, grads, r.first, l, g), r, keys + k_at, g);
        }
    }
}

/* Turns scores p and products ds of a run of keys with a block of queries into weights
 * p and gradients of scores ds. */
INLINE void weigh_back(float *p, float *ds, int rows, int count, const ham_rows s,
                       float scale)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < count; j++) {
            const float a = exp_fast(p[i * BLOCK + j] - s.top[j]) * s.share[j];
            ds[i * BLOCK + j] = scale * a * (ds[i * BLOCK + j] - s.delta[j]);
            p[i * BLOCK + j] = a;
        }
    }
}

/* dk (+)= p_l^T G_l + ds_l^T q_(l-1) over levels first .. last-1; with self, G_(l-1)
 * takes the place of dk for l > 0 */
WORK_GROUP(1, 1, 1)
kernel void ham_back_keys(global float *dk, global float *grads, global float *places,
                          global const float *q, global const float *k,
                          global const int *restrict q_offsets,
                          global const int *restrict k_offsets, ham_args g)
{
    float p[RUN * BLOCK], ds[RUN * BLOCK], keep[RUN], after[RUN];
    const ham_run r = run_of(k_offsets, q_offsets, GROUP(1), GROUP(0) * RUN, RUN);
    const size_t at = (size_t)r.first * g.width;
    for (int i = 0; i < RUN; i++) {
        keep[i] = g.mode == GRAD_ADD ? 1.0f : 0.0f;
        after[i] = 1.0f;
    }
    for (int l = g.first; l < (r.rows ? g.last : g.first); l++) {
        global const float *keys = (g.self ? before(places, k, l, g) : k) + at;
        global float *to = (g.self && l ? grad_of(grads, l - 1, g) : dk) + at;
        int j = 0;
        do { // one round even without queries, to write zeros
            const int count = min(BLOCK, r.others - j), other = r.other + j;
            const size_t from = (size_t)other * g.width;
            global const float *block = before(places, q, l, g) + from;
            global const float *grad = grad_of(grads, l, g) + from;
            dot_rows(p, keys, r.rows, block, count, g.width, g.scale);
            dot_rows(ds, keys, r.rows, grad, count, g.width, 1.0f);
            weigh_back(p, ds, r.rows, count, rows_of(places, grads, other, l, g),
                       g.scale);
            mix_rows(to, r.rows, keep, after, p, grad, count, g.width);
            for (int i = 0; i < RUN; i++) {
                keep[i] = 1.0f;
            }
            mix_rows(to, r.rows, keep, after, ds, block, count, g.width);
            j += BLOCK;
        } while (j < r.others);
    }
}
