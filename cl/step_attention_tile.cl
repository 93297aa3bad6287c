/* step_attention_tile.cl - attention of a decoding step, one query a sequence, for
 * CPU devices.
 *
 * Layout: o, q [B,H*d]; qkv [B,3*H*d]; a store of keys and values [places,2*H*d], keys
 *   first; place [B,stride]; range [B,2]; distances [2R+1,H] or null.
 * Work-group: 1 item, a head of a token; grid (B,H).
 * Defines: WIDTH = d; VEC, the native width.
 * Numerics: f32; online softmax over blocks of BLOCK keys in their order.
 * Writes: o whole; in the store the places of the new tokens. */
#include "step_attention_args.h"
#include "vector.clh"

#ifndef WIDTH
#define WIDTH 64
#endif
#define BLOCK   64
#define VECTORS ((WIDTH + VEC - 1) / VEC)

/* The keys and values that a query of one head attends to. */
typedef struct key_rows {
    global const float *key; // of the head
    size_t ld, value;        // from row to row; from a key to its value
    global const int *place; // row of each; null: consecutive rows
    int count;
    global const float *distances; // of the head: added to scores; null: nothing
    int heads, reach;
} key_rows;

/* Returns key i of the head. */
INLINE global const float *row_of(const key_rows k, int i)
{
    return k.key + (size_t)(k.place ? k.place[i] : i) * k.ld;
}

/* Returns vector i of WIDTH numbers, filled up with zeros. */
INLINE floatv part_of(global const float *x, int i)
{
    if ((i + 1) * VEC <= WIDTH) {
        return loadv(i, x);
    }
    float part[VEC];
    for (int c = 0; c < VEC; c++) {
        part[c] = i * VEC + c < WIDTH ? x[i * VEC + c] : 0.0f;
    }
    return loadv(0, part);
}

/* Stores vector i of WIDTH numbers. */
INLINE void store_part(floatv y, int i, global float *x)
{
    if ((i + 1) * VEC <= WIDTH) {
        storev(y, i, x);
        return;
    }
    float part[VEC];
    storev(y, 0, part);
    for (int c = 0; i * VEC + c < WIDTH; c++) {
        x[i * VEC + c] = part[c];
    }
}

/* Computes the scores of up to BLOCK keys from first on, -INFINITY for the rest of
 * score; returns the highest, SCORE_MIN if none is higher. */
INLINE float scores_of(float *score, const floatv *q, const key_rows k, int first)
{
    const int n = min(BLOCK, k.count - first);
    float high = SCORE_MIN;
    for (int i = 0; i < n; i++) {
        global const float *row = row_of(k, first + i);
        floatv sum = q[0] * part_of(row, 0);
#pragma unroll
        for (int c = 1; c < VECTORS; c++) {
            sum += q[c] * part_of(row, c);
        }
        score[i] = sum_lanes(sum);
        if (k.distances) { // of the last key it is the row R
            const int back = min(k.count - 1 - first - i, k.reach);
            score[i] += k.distances[(k.reach - back) * k.heads];
        }
        high = fmax(high, score[i]);
    }
    for (int i = n; i < BLOCK; i++) {
        score[i] = -INFINITY;
    }
    return high;
}

/* o = sum_j w_j v_j, w = softmax_j(<q,k_j>); zeros without keys, or if all scores are
 * -inf */
INLINE void attend(global float *o, global const float *from, float scale,
                   const key_rows k)
{
    floatv q[VECTORS], sum[VECTORS];
    float score[BLOCK], top = SCORE_MIN, total = 0.0f;
#pragma unroll
    for (int c = 0; c < VECTORS; c++) {
        q[c] = part_of(from, c) * scale;
        sum[c] = (floatv)(0.0f);
    }
    for (int first = 0; first < k.count; first += BLOCK) {
        const int n = min(BLOCK, k.count - first);
        const float high = fmax(top, scores_of(score, q, k, first));
        const float shrink = first ? exp_fast(top - high) : 0.0f;
        floatv weights = (floatv)(0.0f);
        for (int i = 0; i < n; i += VEC) {
            const floatv w = exp_fastv(loadv(0, score + i) - high);
            storev(w, 0, score + i);
            weights += w;
        }
        total = total * shrink + sum_lanes(weights);
#pragma unroll
        for (int c = 0; c < VECTORS; c++) {
            sum[c] *= shrink;
        }
        for (int i = 0; i < n; i++) {
            global const float *value = row_of(k, first + i) + k.value;
#pragma unroll
            for (int c = 0; c < VECTORS; c++) {
                sum[c] += score[i] * part_of(value, c);
            }
        }
        top = high;
    }
    const float share = total == 0.0f ? 0.0f : 1.0f / total;
#pragma unroll
    for (int c = 0; c < VECTORS; c++) {
        store_part(sum[c] * share, c, o);
    }
}

// stores k[b] and v[b] at the last of the places place[b]; o[b] = attention of q[b] to
// the tokens at these places
WORK_GROUP(1, 1, 1)
kernel void step_self(global float *restrict o, global float *store,
                      global const float *restrict qkv,
                      global const int *restrict place,
                      global const float *restrict distances, step_shape s)
{
    const int row = GROUP(0), at = GROUP(1) * WIDTH;
    const size_t D = (size_t)s.heads * WIDTH;
    global const float *q = qkv + 3 * D * row + at;
    place += (size_t)row * s.stride;
    global float *own = store + place[s.count - 1] * 2 * D + at;
#pragma unroll
    for (int c = 0; c < VECTORS; c++) {
        store_part(part_of(q + D, c), c, own);
        store_part(part_of(q + 2 * D, c), c, own + D);
    }
    const key_rows keys = { store + at, 2 * D,   D,
                            place,      s.count, distances ? distances + GROUP(1) : 0,
                            s.heads,    s.reach };
    attend(o + D * row + at, q, s.scale, keys);
}

// o[b] = attention of q[b] to rows first .. first+count-1 of kv, range[b] = (first,
// count)
WORK_GROUP(1, 1, 1)
kernel void step_memory(global float *restrict o, global const float *restrict q,
                        global const float *restrict kv,
                        global const int *restrict range, step_shape s)
{
    const int row = GROUP(0), at = GROUP(1) * WIDTH;
    const size_t D = (size_t)s.heads * WIDTH;
    const key_rows keys = {
        kv + range[2 * row] * 2 * D + at, 2 * D, D, 0, range[2 * row + 1], 0, 0, 0
    };
    attend(o + D * row + at, q + D * row + at, s.scale, keys);
}
