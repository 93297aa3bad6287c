/* masked_softmax.cl - softmax over the last axis under lengths and causality.
 *
 * Layout: x, y, dx, dy [B,H,T,S]; q_len, k_len [B] or null.
 * Work-group: WG items to a row.
 * Defines: WG, a power of two.
 * Numerics: the row's maximum is subtracted; sums in f32 by a tree. A NaN reaches its
 *   row by way of the sum, as maxima drop it.
 * Writes: y whole, zero at hidden keys; dx whole (added to when add). */
#include "masked_softmax.clh"

#ifndef WG
#define WG 128
#endif

// y = exp(x - max) / sum(exp(x - max)) over kept keys
WORK_GROUP(WG, 1, 1)
kernel void masked_softmax_forward(global float *restrict y,
                                   global const float *restrict x,
                                   global const int *q_len, global const int *k_len,
                                   rows_shape s)
{
    local float scratch[WG];
    const int lid = LANE(0), row = GROUP(0);
    const int kept = kept_keys(row, s, q_len, k_len);
    x += (size_t)row * s.keys;
    y += (size_t)row * s.keys;
    float top = SCORE_MIN;
    for (int c = lid; c < kept; c += WG) {
        top = fmax(top, x[c]);
    }
    top = group_max(top, scratch, lid, WG);
    float total = 0.0f;
    for (int c = lid; c < kept; c += WG) {
        total += exp(x[c] - top);
    }
    total = group_sum(total, scratch, lid, WG);
    total = total == 0.0f ? 1.0f : total; // of -inf alone
    for (int c = lid; c < s.keys; c += WG) {
        y[c] = c < kept ? exp(x[c] - top) / total : 0.0f;
    }
}

// dx (+)= y * (dy - sum(y * dy))
WORK_GROUP(WG, 1, 1)
kernel void masked_softmax_backward(global float *restrict dx,
                                    global const float *restrict y,
                                    global const float *restrict dy,
                                    global const int *q_len, global const int *k_len,
                                    rows_shape s, int add)
{
    local float scratch[WG];
    const int lid = LANE(0), row = GROUP(0);
    const int kept = kept_keys(row, s, q_len, k_len);
    const size_t at = (size_t)row * s.keys;
    dx += at;
    y += at;
    dy += at;
    float dot = 0.0f;
    for (int c = lid; c < kept; c += WG) {
        dot += y[c] * dy[c];
    }
    dot = group_sum(dot, scratch, lid, WG);
    for (int c = lid; c < s.keys; c += WG) {
        const float g = c < kept ? y[c] * (dy[c] - dot) : 0.0f;
        dx[c] = add ? dx[c] + g : g;
    }
}
