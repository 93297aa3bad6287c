/* masked_softmax_tile.cl - masked_softmax.cl for CPU devices; each work-item has a run
 * of rows.
 *
 * Layout: x, y, dx, dy [B,H,T,S]; q_len, k_len [B] or null.
 * Work-group: 1 item, ROWS rows each.
 * Defines: VEC, the native width; ROWS.
 * Numerics: as masked_softmax.cl, with exp_fastv.
 * Writes: y whole, zero at hidden keys; dx whole (added to when add). */
#include "masked_softmax.clh"
#include "vector.clh"

#ifndef ROWS
#define ROWS 8
#endif

/* Returns the maximum of a row. Four running maxima hide the latency of fmax. */
INLINE float row_max(global const float *x, int kept)
{
    floatv most[4];
#pragma unroll
    for (int u = 0; u < 4; u++) {
        most[u] = (floatv)(SCORE_MIN);
    }
    int c = 0;
    for (; c + 4 * VEC <= kept; c += 4 * VEC) {
#pragma unroll
        for (int u = 0; u < 4; u++) {
            most[u] = fmax(most[u], loadv((size_t)u, x + c));
        }
    }
    floatv top = fmax(fmax(most[0], most[1]), fmax(most[2], most[3]));
    for (; c + VEC <= kept; c += VEC) {
        top = fmax(top, loadv(0, x + c));
    }
    float result = max_lanes(top);
    for (; c < kept; c++) {
        result = fmax(result, x[c]);
    }
    return result;
}

/* y = exp(x - top); returns the sum. */
INLINE float row_exp(global float *y, global const float *x, int kept, float top)
{
    floatv sum = (floatv)(0.0f);
    int c = 0;
    for (; c + VEC <= kept; c += VEC) {
        const floatv e = exp_fastv(loadv(0, x + c) - top);
        storev(e, 0, y + c);
        sum += e;
    }
    float total = sum_lanes(sum);
    for (; c < kept; c++) {
        y[c] = exp_fast(x[c] - top);
        total += y[c];
    }
    return total;
}

/* y *= scale for the kept keys, 0 for the others */
INLINE void row_scale(global float *y, int kept, int keys, float scale)
{
    int c = 0;
    for (; c + VEC <= kept; c += VEC) {
        storev(loadv(0, y + c) * scale, 0, y + c);
    }
    for (; c < keys; c++) {
        y[c] = c < kept ? y[c] * scale : 0.0f;
    }
}

// y = exp(x - max) / sum(exp(x - max)) over kept keys
WORK_GROUP(1, 1, 1)
kernel void masked_softmax_forward(global float *restrict y,
                                   global const float *restrict x,
                                   global const int *q_len, global const int *k_len,
                                   rows_shape s)
{
    const int first = GROUP(0) * ROWS, last = min(first + ROWS, s.rows);
    for (int row = first; row < last; row++) {
        const int kept = kept_keys(row, s, q_len, k_len);
        const size_t at = (size_t)row * s.keys;
        fetch_rows(x + at + s.keys, s.keys, 1, s.keys); // the next row
        const float top = row_max(x + at, kept);
        const float total = row_exp(y + at, x + at, kept, top);
        row_scale(y + at, kept, s.keys, total == 0.0f ? 0.0f : 1.0f / total);
    }
}

INLINE float row_dot(global const float *a, global const float *b, int kept)
{
    floatv sum = (floatv)(0.0f);
    int c = 0;
    for (; c + VEC <= kept; c += VEC) {
        sum += loadv(0, a + c) * loadv(0, b + c);
    }
    float total = sum_lanes(sum);
    for (; c < kept; c++) {
        total += a[c] * b[c];
    }
    return total;
}

// dx (+)= y * (dy - sum(y * dy))
WORK_GROUP(1, 1, 1)
kernel void masked_softmax_backward(global float *restrict dx,
                                    global const float *restrict y,
                                    global const float *restrict dy,
                                    global const int *q_len, global const int *k_len,
                                    rows_shape s, int add)
{
    const int first = GROUP(0) * ROWS, last = min(first + ROWS, s.rows);
    for (int row = first; row < last; row++) {
        const int kept = kept_keys(row, s, q_len, k_len);
        const size_t at = (size_t)row * s.keys;
        const float dot = row_dot(y + at, dy + at, kept);
        int c = 0;
        for (; c + VEC <= kept; c += VEC) {
            floatv g = loadv(0, y + at + c) * (loadv(0, dy + at + c) - dot);
            g = add ? g + loadv(0, dx + at + c) : g;
            storev(g, 0, dx + at + c);
        }
        for (; c < s.keys; c++) {
            const float g = c < kept ? y[at + c] * (dy[at + c] - dot) : 0.0f;
            dx[at + c] = add ? dx[at + c] + g : g;
        }
    }
}
