/* additive_attention_tile.cl - attention whose scores are sums of tanh, for CPUs.
 *
 * Layout: as additive_attention.clh; scores, weights and ds are maps; dv_parts [B,a].
 * Work-group: 1 item; forward: an item to a query, grid (longest, B); backward: an item
 *   to a sequence.
 * Defines: VEC, the native width.
 * Numerics: f32; tanh errs by 2e-7; sums over columns by lanes, over keys in order.
 * Writes: context, scores, weights, ds, dv_parts whole; gradients as the modes say. */
#include "additive_attention.clh"
#include "rows_tile.clh"

/* tanh x = 1 - 2 / (e^2x + 1) */
INLINE floatv tanh_fastv(floatv x)
{
    return 1.0f - 2.0f / (exp_fastv(fmin(2.0f * x, (floatv)(80.0f))) + 1.0f);
}

/* Numbers c .. c+VEC-1 of a row, zeros past its end. */
INLINE floatv load_some(global const float *x, int c, int width)
{
    if (c + VEC <= width) {
        return vloadv(0, x + c);
    }
    float rest[2 * VEC];
    if (width >= VEC) {
        vstorev(vloadv(0, x + width - VEC), 0, rest);
        vstorev((floatv)(0.0f), 1, rest);
        return vloadv(0, rest + VEC - (width - c));
    }
    for (int n = 0; n < VEC; n++) {
        rest[n] = c + n < width ? x[c + n] : 0.0f;
    }
    return vloadv(0, rest);
}

INLINE void give_some(global float *to, floatv x, int c, int width, int mode)
{
    if (mode == GRAD_SKIP) {
        return;
    }
    if (c + VEC <= width) {
        vstorev(mode == GRAD_ADD ? vloadv(0, to + c) + x : x, 0, to + c);
        return;
    }
    float rest[VEC];
    vstorev(x, 0, rest);
    for (int n = 0; n < width - c; n++) {
        give(to + c + n, rest[n], mode);
    }
}

/* w = softmax(s); both may not be one */
INLINE void soften(global float *w, global const float *s, int count)
{
    float top = SCORE_MIN, sum = 0.0f;
    for (int j = 0; j < count; j++) {
        top = fmax(top, s[j]);
    }
    for (int j = 0; j < count; j++) {
        w[j] = exp_fast(s[j] - top);
        sum += w[j];
    }
    for (int j = 0; j < count; j++) {
        w[j] = w[j] / sum;
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
    for (int j = 0; j < count; j++) {
        global const float *key = m + (size_t)(p.k_first + j) * g.inner;
        floatv s = (floatv)(0.0f);
        for (int c = 0; c < g.inner; c += VEC) {
            const floatv x =
                load_some(key, c, g.inner) + load_some(q + row * g.inner, c, g.inner);
            s = multiply_add(load_some(v, c, g.inner), tanh_fastv(x), s);
        }
        scores[map + j] = sum_lanes(s);
    }
    soften(weights + map, scores + map, count);
    for (int c = 0; c < (i < p.T ? g.width : 0); c += VEC) {
        floatv z = (floatv)(0.0f);
        for (int j = 0; j < count; j++) {
            global const float *value = values + (size_t)(p.k_first + j) * g.width;
            z = multiply_add((floatv)(weights[map + j]), load_some(value, c, g.width),
                             z);
        }
        give_some(context + row * g.width, z, c, g.width, GRAD_WRITE);
    }
}

/* ds = w (dw - <w, dw>) + dscores,  dw = dcontext values^T + dweights;
 * dvalues (+)= w^T dcontext. What flowed in may be 0. */
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
        for (int j = 0; j < p.S; j++) {
            float dw = dweights ? dweights[map + j] : 0.0f;
            if (dcontext) {
                dw += dot_one(dy, values + (size_t)(p.k_first + j) * g.width, g.width);
            }
            ds[map + j] = dw;
            sum += weights[map + j] * dw;
        }
        for (int j = 0; j < p.S; j++) {
            const float z = weights[map + j] * (ds[map + j] - sum);
            ds[map + j] = dscores ? z + dscores[map + j] : z;
        }
    }
    for (int j = 0; j < (g.values == GRAD_SKIP ? 0 : p.S); j++) {
        global float *to = dvalues + (size_t)(p.k_first + j) * g.width;
        for (int c = 0; c < g.width; c += VEC) {
            floatv z = (floatv)(0.0f);
            for (int i = 0; i < (dcontext ? p.T : 0); i++) {
                global const float *dy = dcontext + (size_t)(p.q_first + i) * g.width;
                z = multiply_add((floatv)(weights[p.map + (size_t)i * p.S + j]),
                                 load_some(dy, c, g.width), z);
            }
            give_some(to, z, c, g.width, g.values);
        }
    }
}

/* dz[i,j] = ds[i,j] v (1 - u^2), u = tanh(m[j] + q[i]):
 * dm (+)= sum over i of dz, dq (+)= sum over j, dv_parts = sum of ds u */
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
    for (int c = 0; c < g.inner; c += VEC) {
        const floatv of_v = load_some(v, c, g.inner);
        floatv dv = (floatv)(0.0f);
        for (int j = 0; j < (p.T ? 0 : p.S); j++) { // nobody asks: zeros
            give_some(dm + (size_t)(p.k_first + j) * g.inner, dv, c, g.inner, g.m);
        }
        for (int i = 0; i < p.T; i++) {
            const size_t row = (size_t)(p.q_first + i) * g.inner;
            const size_t map = p.map + (size_t)i * p.S;
            const floatv of_q = load_some(q + row, c, g.inner);
            floatv sum = (floatv)(0.0f);
            for (int j = 0; j < p.S; j++) {
                const size_t key = (size_t)(p.k_first + j) * g.inner;
                const floatv u = tanh_fastv(load_some(m + key, c, g.inner) + of_q);
                const floatv s = (floatv)(ds[map + j]);
                const floatv dz = s * of_v * (1.0f - u * u);
                sum += dz;
                dv = multiply_add(s, u, dv);
                give_some(dm + key, dz, c, g.inner, i ? max(g.m, GRAD_ADD) : g.m);
            }
            give_some(dq + row, sum, c, g.inner, g.q);
        }
        give_some(dv_parts + (size_t)GROUP(0) * g.inner, dv, c, g.inner, GRAD_WRITE);
    }
}
