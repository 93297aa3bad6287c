/* max_attention.cl - query-to-context attention: rows weighted by their best match.
 *
 * Layout: q, dq [Nq,d]; k, dk [Nk,d]; out, dy [B,d]; offsets [B+1]; best, top, weight,
 *   slope [Nq].
 * Work-group: WG items along the columns of a run of rows of a sequence, grid (runs,B);
 *   in max_pool a group to a sequence. WG is 1 on CPU devices, where loops over columns
 *   become vector code.
 * Defines: WG, a power of two; VEC.
 * Numerics: f32; dot products by lanes, then by a tree over items; the sequence's
 *   maximum is subtracted; the first of equal products counts as the best, and the
 *   first NaN above all; a product of -inf has no gradient.
 * Writes: best, top, weight, slope, out whole; dq, dk whole (GRAD_ADD adds to them). */
#ifndef WG
#define WG 64
#endif
#include "attention_args.h"
#include "max_attention_args.h"
#include "vector.clh"

/* Rows first .. last-1: a run of rows of a sequence. */
typedef struct max_run {
    int first, last;
} max_run;

INLINE max_run run_of(global const int *offsets, int b)
{
    max_run r;
    r.first = offsets[b] + GROUP(0) * MAX_RUN;
    r.last = min(r.first + MAX_RUN, offsets[b + 1]);
    return r;
}

/* Returns this item's part of <x, y>. */
INLINE float part_of_dot(global const float *x, global const float *y, int width)
{
    floatv sum = (floatv)(0.0f);
    for (int c = LANE(0) * VEC; c + VEC <= width; c += WG * VEC) {
        sum += loadv(0, x + c) * loadv(0, y + c);
    }
    float all = sum_lanes(sum);
    for (int c = width / VEC * VEC + LANE(0); c < width; c += WG) {
        all += x[c] * y[c];
    }
    return all;
}

/* top[i] = max over j of <q_i, k_j>, best[i] = the first such row of k, -1 without
 * keys */
WORK_GROUP(WG, 1, 1)
kernel void max_best(global int *restrict best, global float *restrict top,
                     global const float *restrict q, global const float *restrict k,
                     global const int *restrict q_offsets,
                     global const int *restrict k_offsets, max_args g)
{
    local float scratch[WG];
    const int b = GROUP(1), first = k_offsets[b], last = k_offsets[b + 1];
    const max_run r = run_of(q_offsets, b);
    for (int i = r.first; i < r.last; i++) {
        global const float *mine = q + (size_t)i * g.width;
        float most = SCORE_MIN;
        int at = -1;
        for (int j = first; j < last; j++) {
            const float part = part_of_dot(mine, k + (size_t)j * g.width, g.width);
            const float s = group_sum(part, scratch, LANE(0), WG);
            at = at < 0 || (!(s <= most) && most == most) ? j : at;
            most = at == j ? s : most;
        }
        if (LANE(0) == 0) {
            best[i] = most == -INFINITY ? -1 : at;
            top[i] = most;
        }
    }
}

// weight = softmax of top over a sequence, out = sum of weight q; zeros without keys
WORK_GROUP(WG, 1, 1)
kernel void max_pool(global float *restrict out, global float *restrict weight,
                     global const float *restrict top, global const float *restrict q,
                     global const int *restrict q_offsets,
                     global const int *restrict k_offsets, max_args g)
{
    local float scratch[WG];
    const int b = GROUP(0), first = q_offsets[b], last = q_offsets[b + 1];
    const bool keys = k_offsets[b + 1] > k_offsets[b];
    float most = SCORE_MIN, sum = 0.0f;
    for (int i = first + LANE(0); i < last; i += WG) {
        most = fmax(most, top[i]);
    }
    most = group_max(most, scratch, LANE(0), WG);
    for (int i = first + LANE(0); i < last; i += WG) {
        sum += exp(top[i] - most);
    }
    sum = group_sum(sum, scratch, LANE(0), WG);
    const bool any = keys && sum != 0.0f; // 0: products of -inf alone
    for (int i = first + LANE(0); i < last; i += WG) {
        weight[i] = any ? exp(top[i] - most) / sum : 0.0f;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    out += (size_t)b * g.width;
    for (int c = LANE(0); c < g.width; c += WG) {
        out[c] = 0.0f;
    }
    for (int i = first; i < (any ? last : first); i++) {
        global const float *from = q + (size_t)i * g.width;
        const float w = weight[i];
        for (int c = LANE(0); c < g.width; c += WG) {
            out[c] += w * from[c];
        }
    }
}

/* slope[i] = w_i <dy, q_i - out>, the gradient of top[i]; dq_i (+)= w_i dy + slope[i]
 * k_best[i] */
WORK_GROUP(WG, 1, 1)
kernel void max_back_rows(
    global float *dq, global float *restrict slope, global const float *restrict q,
    global const float *restrict k, global const int *restrict best,
    global const float *restrict weight, global const float *restrict out,
    global const float *restrict dy, global const int *restrict q_offsets, max_args g)
{
    local float scratch[WG];
    const int b = GROUP(1);
    const max_run r = run_of(q_offsets, b);
    out += (size_t)b * g.width;
    dy += (size_t)b * g.width;
    const float mean = group_sum(part_of_dot(dy, out, g.width), scratch, LANE(0), WG);
    for (int i = r.first; i < r.last; i++) {
        const size_t at = (size_t)i * g.width;
        const float part = part_of_dot(dy, q + at, g.width), w = weight[i];
        const float s = w * (group_sum(part, scratch, LANE(0), WG) - mean);
        const bool any = best[i] >= 0;
        global const float *other = k + (size_t)(any ? best[i] : 0) * g.width;
        if (LANE(0) == 0) {
            slope[i] = s;
        }
        for (int c = g.mode == GRAD_SKIP ? g.width : LANE(0); c < g.width; c += WG) {
            const float z = any ? w * dy[c] + s * other[c] : 0.0f;
            dq[at + c] = g.mode == GRAD_ADD ? dq[at + c] + z : z;
        }
    }
}

// dk_j (+)= sum over i with best[i] = j of slope[i] q_i
WORK_GROUP(WG, 1, 1)
kernel void max_back_keys(global float *restrict dk, global const float *restrict q,
                          global const int *restrict best,
                          global const float *restrict slope,
                          global const int *restrict q_offsets,
                          global const int *restrict k_offsets, max_args g)
{
    const int b = GROUP(1), first = q_offsets[b], last = q_offsets[b + 1];
    const max_run r = run_of(k_offsets, b);
    for (int j = r.first; j < r.last; j++) {
        global float *to = dk + (size_t)j * g.width;
        for (int c = g.mode == GRAD_ADD ? g.width : LANE(0); c < g.width; c += WG) {
            to[c] = 0.0f;
        }
        for (int i = first; i < last; i++) {
            global const float *from = q + (size_t)i * g.width;
            for (int c = best[i] == j ? LANE(0) : g.width; c < g.width; c += WG) {
                to[c] += slope[i] * from[c];
            }
        }
    }
}
