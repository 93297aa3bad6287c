/* additive_attention.cl - attention whose scores are weighted sums of tanh, for GPUs.
 *
 * Layout: as additive_attention.clh; scores, weights and ds are maps; dv_parts [B,a].
 * Work-group: WG items; forward: a group for each query, grid (longest, B); backward: a
 *   group for each sequence.
 * Defines: WG, a power of two.
 * Numerics: f32; one item sums over columns, or over rows in their order; group_sum
 *   adds the softmax's sum and <w, dw>.
 * Writes: context, scores, weights, ds, dv_parts whole; gradients by mode (GRAD_*). */
#include "additive_attention.clh"

#ifndef WG
#define WG 64
#endif

// s = <v, tanh(m + q)>,  w = softmax(s) over the query's keys,  context = w values
WORK_GROUP(WG, 1, 1)
kernel void additive_forward(global float *restrict context, global float *weights,
                             global float *scores, global const float *restrict m,
                             global const float *restrict q,
                             global const float *restrict v,
                             global const float *restrict values,
                             global const int *restrict q_offsets,
                             global const int *restrict k_offsets, additive_args g)
{
    local float scratch[WG];
    const int lid = LANE(0), i = GROUP(0);
    const pair p = pair_of(q_offsets, k_offsets, GROUP(1));
    const int count = i < p.T ? p.S : 0;
    const size_t map = p.map + (size_t)i * p.S, row = (size_t)(p.q_first + i);
    float top = SCORE_MIN, sum = 0.0f;
    for (int j = lid; j < count; j += WG) {
        global const float *key = m + (size_t)(p.k_first + j) * g.inner;
        float s = 0.0f;
        for (int c = 0; c < g.inner; c++) {
            s += v[c] * tanh(key[c] + q[row * g.inner + c]);
        }
        scores[map + j] = s;
        top = fmax(top, s);
    }
    top = group_max(top, scratch, lid, WG);
    for (int j = lid; j < count; j += WG) {
        sum += exp(scores[map + j] - top);
    }
    sum = group_sum(sum, scratch, lid, WG);
    sum = sum == 0.0f ? 1.0f : sum; // of -inf alone
    for (int j = lid; j < count; j += WG) {
        weights[map + j] = exp(scores[map + j] - top) / sum;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int c = lid; c < (i < p.T ? g.width : 0); c += WG) {
        float z = 0.0f;
        for (int j = 0; j < count; j++) {
            z += weights[map + j] * values[(size_t)(p.k_first + j) * g.width + c];
        }
        context[row * g.width + c] = z;
    }
}

/* ds = w (dw - <w, dw>) + dscores,  dw = dcontext values^T + dweights;
 * dvalues (+)= w^T dcontext. dcontext, dweights and dscores may be null. */
WORK_GROUP(WG, 1, 1)
kernel void additive_back_scores(global float *restrict ds, global float *dvalues,
                                 global const float *restrict weights,
                                 global const float *values,
                                 global const float *dcontext,
                                 global const float *dweights,
                                 global const float *dscores,
                                 global const int *restrict q_offsets,
                                 global const int *restrict k_offsets, additive_args g)
{
    local float scratch[WG];
    const int lid = LANE(0);
    const pair p = pair_of(q_offsets, k_offsets, GROUP(0));
    for (int i = 0; i < p.T; i++) {
        const size_t map = p.map + (size_t)i * p.S;
        global const float *dy = dcontext + (size_t)(p.q_first + i) * g.width;
        float sum = 0.0f;
        for (int j = lid; j < p.S; j += WG) {
            const size_t value = (size_t)(p.k_first + j) * g.width;
            float dw = dweights ? dweights[map + j] : 0.0f;
            for (int c = 0; c < (dcontext ? g.width : 0); c++) {
                dw += dy[c] * values[value + c];
            }
            ds[map + j] = dw;
            sum += weights[map + j] * dw;
        }
        sum = group_sum(sum, scratch, lid, WG);
        for (int j = lid; j < p.S; j += WG) {
            const float z = weights[map + j] * (ds[map + j] - sum);
            ds[map + j] = dscores ? z + dscores[map + j] : z;
        }
    }
    const int wanted = g.values == GRAD_SKIP ? 0 : p.S * g.width;
    for (int n = lid; n < wanted; n += WG) {
        const int j = n / g.width, c = n % g.width;
        float z = 0.0f;
        for (int i = 0; i < (dcontext ? p.T : 0); i++) {
            z += weights[p.map + (size_t)i * p.S + j] *
                 dcontext[(size_t)(p.q_first + i) * g.width + c];
        }
        give(dvalues + (size_t)p.k_first * g.width + n, z, g.values);
    }
}

/* dz[i,j] = ds[i,j] v (1 - u^2), u = tanh(m[j] + q[i]):
 * dm (+)= sum over i of dz, dq (+)= sum over j, dv_parts = sum of ds u; a group for
 * each sequence, an item for each column */
WORK_GROUP(WG, 1, 1)
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
    for (int c = LANE(0); c < g.inner; c += WG) {
        const float of_v = v[c];
        float dv = 0.0f;
        for (int j = 0; j < (p.T ? 0 : p.S); j++) { // no queries: zeros
            give(dm + (size_t)(p.k_first + j) * g.inner + c, 0.0f, g.m);
        }
        for (int i = 0; i < p.T; i++) {
            const size_t row = (size_t)(p.q_first + i) * g.inner + c;
            const size_t map = p.map + (size_t)i * p.S;
            const float of_q = q[row];
            float sum = 0.0f;
            for (int j = 0; j < p.S; j++) {
                const size_t key = (size_t)(p.k_first + j) * g.inner + c;
                const float u = tanh(m[key] + of_q), s = ds[map + j];
                const float dz = s * of_v * (1.0f - u * u);
                sum += dz;
                dv += s * u;
                give(dm + key, dz, i ? max(g.m, GRAD_ADD) : g.m);
            }
            give(dq + row, sum, g.q);
        }
        dv_parts[(size_t)GROUP(0) * g.inner + c] = dv;
    }
}
