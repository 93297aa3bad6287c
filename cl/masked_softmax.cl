/* masked_softmax.cl - softmax over the last axis under lengths and causality.
 *
 * Layout: x, y, dx, dy [B,H,T,S]; q_len, k_len [B] or null.
 * Work-group: as row.clh, ROWS rows in a run.
 * Defines: WG, a power of two, and VEC, as row.clh; ROWS.
 * Numerics: the row's maximum is subtracted; sums in f32. A NaN reaches its row by way
 *   of the sum, as maxima drop it.
 * Writes: y whole, zero at hidden keys; dx whole (added to when add). */
#include "masked_softmax_args.h"
#include "row.clh"

#ifndef ROWS
#define ROWS 8
#endif

/* Returns how many keys a row of scores keeps: it keeps its first ones. */
INLINE int kept_keys(int row, rows_shape s, global const int *q_len,
                     global const int *k_len)
{
    const int t = row % s.queries, b = row / s.queries / s.heads;
    int kept = k_len ? clamp(k_len[b], 0, s.keys) : s.keys;
    kept = s.causal ? min(kept, t + s.keys - s.queries + 1) : kept;
    return q_len && t >= q_len[b] ? 0 : max(kept, 0);
}

// y = exp(x - max) / sum(exp(x - max)) over kept keys
WORK_GROUP(WG, 1, 1)
kernel void masked_softmax_forward(global float *restrict y,
                                   global const float *restrict x,
                                   global const int *q_len, global const int *k_len,
                                   rows_shape s)
{
    ROW_SCRATCH(1);
    EACH_ROW(row, s.rows, ROWS)
    {
        const int kept = kept_keys(row, s, q_len, k_len);
        global const float *from = x + (size_t)row * s.keys;
        global float *to = y + (size_t)row * s.keys;
        ROW_AHEAD(from + s.keys, s.keys);
        const float top = ROW_MAX(from, kept);
        float total;
        ROW_SUM(total, c, kept, KEEP(to, c, row_exp(AT(from, c) - top)));
        total = total == 0.0f ? 1.0f : total; // of -inf alone
        ROW_PUT_FIRST(to, c, kept, s.keys,
                      OVER(KEPT(to, c, row_exp(AT(from, c) - top)), total), 0);
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
    ROW_SCRATCH(1);
    EACH_ROW(row, s.rows, ROWS)
    {
        const int kept = kept_keys(row, s, q_len, k_len);
        global const float *p = y + (size_t)row * s.keys;
        global const float *dp = dy + (size_t)row * s.keys;
        float dot;
        ROW_SUM(dot, c, kept, AT(p, c) * AT(dp, c));
        ROW_PUT_FIRST(dx + (size_t)row * s.keys, c, kept, s.keys,
                      AT(p, c) * (AT(dp, c) - dot), add);
    }
}
