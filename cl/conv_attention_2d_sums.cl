/* conv_attention_2d_sums.cl - adds up the partial gradients of filters, and those of
 * keys or values from the chunks of a map.
 *
 * Layout: dw [H,taps-1], db [H]; rows [B*H*parts,taps]; out as k in attention.clh;
 * parts [N,H,d] for each chunk.
 * Work-group: WG items, one for each result; conv_sum_many: all for one result.
 * Defines: WG, a power of two.
 * Numerics: sums in the order of sequences and of chunks; of many parts in that of a
 * tree.
 * Writes: dw, db, out whole, by their modes. */
#include "conv_band.clh"

#ifndef WG
#define WG 64
#endif

// dw[h][n] (+)= sum over sequences and parts of rows[.][n]; db[h] is the last n
WORK_GROUP(WG, 1, 1)
kernel void conv_sum_filters(global float *restrict dw, global float *restrict db,
                             global const float *restrict rows, int sequences,
                             int heads, int parts, int taps, int w_mode, int b_mode)
{
    const int n = GROUP(0) * WG + LANE(0), h = n / taps, tap = n % taps;
    float sum = 0.0f;
    for (int i = 0; i < (h < heads ? sequences * parts : 0); i++) {
        const int row = (i / parts * heads + h) * parts + i % parts;
        sum += rows[(size_t)row * (size_t)taps + (size_t)tap];
    }
    if (h < heads && tap < taps - 1 && w_mode != GRAD_SKIP) {
        global float *to = dw + h * (taps - 1) + tap;
        *to = (w_mode == GRAD_ADD ? *to : 0.0f) + sum;
    }
    if (h < heads && tap == taps - 1 && b_mode != GRAD_SKIP) {
        db[h] = (b_mode == GRAD_ADD ? db[h] : 0.0f) + sum;
    }
}

// the same, with a group for each n: items take rows in turn
WORK_GROUP(WG, 1, 1)
kernel void conv_sum_many(global float *restrict dw, global float *restrict db,
                          global const float *restrict rows, int sequences, int heads,
                          int parts, int taps, int w_mode, int b_mode)
{
    local float scratch[WG];
    const int h = GROUP(0) / taps, tap = GROUP(0) % taps;
    float sum = 0.0f;
    for (int i = LANE(0); i < sequences * parts; i += WG) {
        const int row = (i / parts * heads + h) * parts + i % parts;
        sum += rows[(size_t)row * (size_t)taps + (size_t)tap];
    }
    sum = group_sum(sum, scratch, LANE(0), WG);
    const bool bias = tap == taps - 1;
    const int mode = bias ? b_mode : w_mode;
    if (LANE(0) == 0 && mode != GRAD_SKIP) {
        global float *to = bias ? db + h : dw + h * (taps - 1) + tap;
        *to = (mode == GRAD_ADD ? *to : 0.0f) + sum;
    }
}

// out[n] (+)= sum over the chunks of n's sequence
WORK_GROUP(WG, 1, 1)
kernel void conv_sum_parts(global float *restrict out,
                           global const float *restrict parts,
                           global const int2 *restrict spans, conv_tokens r, int heads,
                           int tokens, int chunk_rows)
{
    const int columns = heads * r.width;
    const int at = GROUP(0) * WG + LANE(0), n = at / columns;
    const int length = n < tokens ? spans[n].s1 - spans[n].s0 : 0;
    float sum = 0.0f;
    for (int first = 0; first < length; first += chunk_rows) {
        sum += parts[(size_t)(first / chunk_rows) * (size_t)(tokens * columns) +
                     (size_t)at];
    }
    if (n < tokens) {
        global float *to = out + (size_t)r.x_at + (size_t)n * (size_t)r.x_stride +
                           (size_t)(at % columns);
        *to = (r.mode == GRAD_ADD ? *to : 0.0f) + sum;
    }
}
