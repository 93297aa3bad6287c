/* additive_attention_tile.cl - attention whose scores are weighted sums of tanh, for
 * CPUs.
 *
 * Layout: as additive_attention.clh; scores, weights and ds are maps; dv_parts [B,a].
 * Work-group: 1 item; forward: an item for each query, grid (longest, B); backward: an
 *   item for each sequence.
 * Defines: VEC, the native width.
 * Numerics: f32; tanh errs by 4e-7; sums over columns by lanes, over rows in fours.
 * Writes: context, scores, weights, ds, dv_parts whole; gradients by mode (GRAD_*). */
#include "additive_attention.clh"
#include "vector.clh"
#include "vector_tanh.clh"

/* Returns how many columns the block of VEC at column c counts. If VEC does not divide
 * the width, the first block counts only the remainder and overlaps the second, so
 * that in rows of VEC columns or more no block reads past the row or needs a scalar
 * loop. */
INLINE int block_size(int c, int width)
{
    return c == 0 && width % VEC ? width % VEC : VEC;
}

#define EACH_BLOCK(c, width) for (int c = 0; c < (width); c += block_size(c, width))

/* Returns x with zeros in lanes that its block does not count. */
INLINE floatv of_block(floatv x, int c, int width)
{
    return select((floatv)(0.0f), x,
                  convert_intv(LANES) < (intv)(block_size(c, width)));
}

INLINE floatv load_block(global const float *x, int c, int width)
{
    float few[VEC];
    if (width >= VEC) {
        return loadv(0, x + c);
    }
    for (int n = 0; n < VEC; n++) {
        few[n] = n < width ? x[n] : 0.0f;
    }
    return loadv(0, few);
}

/* Writes or adds a block, by mode. Blocks must come in order: the first one writes
 * zeros to columns of the second. */
INLINE void give_block(global float *to, floatv x, int c, int width, int mode)
{
    float few[VEC];
    if (mode == GRAD_SKIP) {
        return;
    }
    x = of_block(x, c, width);
    if (width >= VEC) {
        storev(mode == GRAD_ADD ? loadv(0, to + c) + x : x, 0, to + c);
        return;
    }
    storev(x, 0, few);
    for (int n = 0; n < width; n++) {
        give(to + n, few[n], mode);
    }
}

/* Returns a block of the sum over j < count of w[j step] x_j. Four running sums hide
 * the latency of an addition. */
INLINE floatv mix_block(global const float *w, size_t step, global const float *x,
                        int count, int c, int width)
{
    floatv sum[4];
#pragma unroll
    for (int u = 0; u < 4; u++) {
        sum[u] = (floatv)(0.0f);
    }
    int j = 0;
    for (; j + 4 <= count; j += 4) {
#pragma unroll
        for (int u = 0; u < 4; u++) {
            sum[u] =
                multiply_add((floatv)(w[(j + u) * step]),
                             load_block(x + (size_t)(j + u) * width, c, width), sum[u]);
        }
    }
    for (; j < count; j++) {
        sum[0] = multiply_add((floatv)(w[j * step]),
                              load_block(x + (size_t)j * width, c, width), sum[0]);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* w = softmax(s); w and s must not be one array */
INLINE void soften(global float *w, global const float *s, int count)
{
    const int whole = count / VEC * VEC;
    floatv tops = (floatv)(SCORE_MIN), sums = (floatv)(0.0f);
    for (int j = 0; j < whole; j += VEC) {
        tops = fmax(tops, loadv(0, s + j));
    }
    float top = max_lanes(tops);
    for (int j = whole; j < count; j++) {
        top = fmax(top, s[j]);
    }
    for (int j = 0; j < whole; j += VEC) {
        const floatv e = exp_fastv(loadv(0, s + j) - top);
        storev(e, 0, w + j);
        sums += e;
    }
    float sum = sum_lanes(sums);
    for (int j = whole; j < count; j++) {
        w[j] = exp_fast(s[j] - top);
        sum += w[j];
    }
    const float all = sum == 0.0f ? 1.0f : sum; // of -inf alone
    for (int j = 0; j < count; j++) {
        w[j] = w[j] / all;
    }
}

/* to[j] = <v, tanh(m_j + q)> for j < count <= 4 */
INLINE void score_four(global float *to, global const float *m, int count,
                       global const float *q, global const float *v, int width)
{
    floatv sum[4];
#pragma unroll
    for (int u = 0; u < 4; u++) {
        sum[u] = (floatv)(0.0f);
    }
    EACH_BLOCK(c, width)
    {
        const floatv of_q = load_block(q, c, width);
        const floatv of_v = of_block(load_block(v, c, width), c, width);
        floatv x[4];
#pragma unroll
        for (int u = 0; u < 4; u++) {
            x[u] = load_block(m + (size_t)min(u, count - 1) * width, c, width) + of_q;
        }
        tanh_four(x);
#pragma unroll
        for (int u = 0; u < 4; u++) {
            sum[u] = multiply_add(of_v, x[u], sum[u]);
        }
    }
#pragma unroll
    for (int u = 0; u < 4; u++) {
        if (u < count) {
            to[u] = sum_lanes(sum[u]);
        }
    }
}

// s = <v, tanh(m + q)>,  w = softmax(s) over the query's keys,  context = w values
WORK_GROUP(1, 1, 1)
kernel void additive_forward(global float *restrict context, global float *weights,
                             global float *scores, global const float *restrict m,
                             global const float *restrict q,
                             global const float *restrict v,
                             global const float *restrict values,
                             global const int *restrict q_offsets,
                             global const int *restrict k_offsets, additive_args g)
{
    const int i = GROUP(0);
    const pair p = pair_of(q_offsets, k_offsets, GROUP(1));
    const int count = i < p.T ? p.S : 0;
    const size_t map = p.map + (size_t)i * p.S, row = (size_t)(p.q_first + i);
    for (int j = 0; j < count; j += 4) {
        score_four(scores + map + j, m + (size_t)(p.k_first + j) * g.inner,
                   min(4, count - j), q + row * g.inner, v, g.inner);
    }
    soften(weights + map, scores + map, count);
    EACH_BLOCK(c, i < p.T ? g.width : 0)
    {
        give_block(context + row * g.width,
                   mix_block(weights + map, 1, values + (size_t)p.k_first * g.width,
                             count, c, g.width),
                   c, g.width, GRAD_WRITE);
    }
}

/* to[j] = <x, y_j> for j < count <= 4, or 0 if x is null */
INLINE void value_four(global float *to, global const float *x, global const float *y,
                       int count, int width)
{
    floatv sum[4];
#pragma unroll
    for (int u = 0; u < 4; u++) {
        sum[u] = (floatv)(0.0f);
    }
    EACH_BLOCK(c, x ? width : 0)
    {
        const floatv of_x = of_block(load_block(x, c, width), c, width);
#pragma unroll
        for (int u = 0; u < 4; u++) {
            sum[u] = multiply_add(
                of_x, load_block(y + (size_t)min(u, count - 1) * width, c, width),
                sum[u]);
        }
    }
#pragma unroll
    for (int u = 0; u < 4; u++) {
        if (u < count) {
            to[u] = sum_lanes(sum[u]);
        }
    }
}

/* ds = w (dw - <w, dw>) + dscores,  dw = dcontext values^T + dweights;
 * dvalues (+)= w^T dcontext. dcontext, dweights and dscores may be null. */
WORK_GROUP(1, 1, 1)
kernel void additive_back_scores(global float *restrict ds, global float *dvalues,
                                 global const float *restrict weights,
                                 global const float *values,
                                 global const float *dcontext,
                                 global const float *dweights,
                                 global const float *dscores,
                                 global const int *restrict q_offsets,
                                 global const int *restrict k_offsets, additive_args g)
{
    const pair p = pair_of(q_offsets, k_offsets, GROUP(0));
    for (int i = 0; i < p.T; i++) {
        const size_t map = p.map + (size_t)i * p.S;
        global const float *dy = dcontext + (size_t)(p.q_first + i) * g.width;
        float sum = 0.0f;
        for (int j = 0; j < p.S; j += 4) {
            value_four(ds + map + j, dcontext ? dy : 0,
                       values + (size_t)(p.k_first + j) * g.width, min(4, p.S - j),
                       g.width);
        }
        for (int j = 0; j < p.S; j++) {
            const float dw = dweights ? ds[map + j] + dweights[map + j] : ds[map + j];
            ds[map + j] = dw;
            sum += weights[map + j] * dw;
        }
        for (int j = 0; j < p.S; j++) {
            const float z = weights[map + j] * (ds[map + j] - sum);
            ds[map + j] = dscores ? z + dscores[map + j] : z;
        }
    }
    for (int j = 0; j < (g.values == GRAD_SKIP ? 0 : p.S); j++) {
        EACH_BLOCK(c, g.width)
        {
            give_block(dvalues + (size_t)(p.k_first + j) * g.width,
                       mix_block(weights + p.map + j, (size_t)p.S,
                                 dcontext + (size_t)p.q_first * g.width,
                                 dcontext ? p.T : 0, c, g.width),
                       c, g.width, g.values);
        }
    }
}

/* Adds a block of one query's terms: dz to dm_j by mode, the sums over keys of dz to dq
 * and of ds_j u to dv, where u = tanh(m_j + q) and dz = ds_j v (1 - u^2). */
INLINE void inner_block(global float *dm, floatv *dq, floatv *dv,
                        global const float *ds, global const float *m, floatv of_q,
                        floatv of_v, int count, int c, int width, int mode)
{
    for (int j = 0; j < count; j += 4) {
        floatv u[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            u[k] =
                load_block(m + (size_t)min(j + k, count - 1) * width, c, width) + of_q;
        }
        tanh_four(u);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (j + k < count) {
                const floatv s = (floatv)(ds[j + k]);
                const floatv dz = s * of_v * (1.0f - u[k] * u[k]);
                *dq += dz;
                *dv = multiply_add(s, u[k], *dv);
                give_block(dm + (size_t)(j + k) * width, dz, c, width, mode);
            }
        }
    }
}

/* dm (+)= sum over queries of dz, dq (+)= sum over keys, dv_parts = sum of ds u */
WORK_GROUP(1, 1, 1)
kernel void additive_back_inner(global float *dm, global float *dq,
                                global float *restrict dv_parts,
                                global const float *restrict ds,
                                global const float *restrict m,
                                global const float *restrict q,
                                global const float *restrict v,
                                global const int *restrict q_offsets,
                                global const int *restrict k_offsets, additive_args g)
{
    const pair p = pair_of(q_offsets, k_offsets, GROUP(0));
    const size_t keys = (size_t)p.k_first * g.inner;
    EACH_BLOCK(c, g.inner)
    {
        const floatv of_v = load_block(v, c, g.inner);
        floatv dv = (floatv)(0.0f);
        for (int j = 0; j < (p.T ? 0 : p.S); j++) { // no queries: zeros
            give_block(dm + keys + (size_t)j * g.inner, dv, c, g.inner, g.m);
        }
        for (int i = 0; i < p.T; i++) {
            const size_t row = (size_t)(p.q_first + i) * g.inner;
            floatv sum = (floatv)(0.0f);
            inner_block(dm + keys, &sum, &dv, ds + p.map + (size_t)i * p.S, m + keys,
                        load_block(q + row, c, g.inner), of_v, p.S, c, g.inner,
                        i ? max(g.m, GRAD_ADD) : g.m);
            give_block(dq + row, sum, c, g.inner, g.q);
        }
        give_block(dv_parts + (size_t)GROUP(0) * g.inner, dv, c, g.inner, GRAD_WRITE);
    }
}
