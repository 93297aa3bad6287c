/* conv_fft.cl - the steps between the transforms of a convolution by FFT.
 *
 * Layout: real maps [pairs][side][line], side*line numbers each; spectra
 * [pairs][cells], complex; filters and their gradients [H] of either kind.
 * Work-group: WG items, one for each number.
 * Defines: WG.
 * Numerics: products of spectra in the order of pairs.
 * Writes: out whole. */
#include "conv_band.clh"

#ifndef WG
#define WG 64
#endif

/* Returns the index of tap n on a ring of `side` numbers, with the middle tap at 0. */
INLINE int ring_at(int n, int taps, int side)
{
    const int at = n - taps / 2;
    return at < 0 ? at + side : at;
}

// maps[n] = the filter of head first + n, wrapped around (0,0); zeros past the last
// head
WORK_GROUP(WG, 1, 1)
kernel void conv_place(global float *restrict maps, global const float *restrict w,
                       conv_band m, int first, int side)
{
    const int n = GROUP(0) * WG + LANE(0), i = n / m.line, j = n % m.line;
    const int head = first + GROUP(2);
    int u = i + m.kh / 2, v = j + m.kw / 2; // the tap that lies here
    u -= u >= side ? side : 0;
    v -= v >= side ? side : 0;
    if (i < side) {
        const bool tap = head < m.heads && j < side && u < m.kh && v < m.kw;
        maps[(size_t)GROUP(2) * (size_t)m.size + (size_t)n] =
            tap ? w[(head * m.kh + u) * m.kw + v] : 0.0f;
    }
}

// out = x f, or x conj(f), f being the filter of the pair's head
WORK_GROUP(WG, 1, 1)
kernel void conv_multiply(global float2 *restrict out, global const float2 *restrict x,
                          global const float2 *restrict f, conv_band m, int cells,
                          float sign)
{
    const int n = GROUP(0) * WG + LANE(0), head = (m.pair + GROUP(2)) % m.heads;
    const size_t at = (size_t)GROUP(2) * (size_t)cells + (size_t)n;
    if (n < cells) {
        const float2 a = x[at], b = f[(size_t)head * (size_t)cells + (size_t)n];
        const float im = sign * b.s1;
        out[at] = (float2)(a.s0 * b.s0 - a.s1 * im, a.s0 * im + a.s1 * b.s0);
    }
}

// sums[h] (+)= sum of x conj(y) over the batch's pairs of head h; bias[h] (+)= that of
// the real part of y's first cell
WORK_GROUP(WG, 1, 1)
kernel void conv_correlate(global float2 *restrict sums, global float *restrict bias,
                           global const float2 *restrict x,
                           global const float2 *restrict y, conv_band m, int pairs,
                           int cells, int add)
{
    const int n = GROUP(0) * WG + LANE(0), head = GROUP(2);
    if (n < cells) {
        const size_t to = (size_t)head * (size_t)cells + (size_t)n;
        float2 sum = add ? sums[to] : (float2)(0.0f);
        float total = add ? bias[head] : 0.0f;
        for (int p = 0; p < pairs; p++) {
            const float2 a = x[(size_t)p * (size_t)cells + (size_t)n];
            const float2 b = y[(size_t)p * (size_t)cells + (size_t)n];
            const bool mine = (m.pair + p) % m.heads == head;
            sum += mine ? (float2)(a.s0 * b.s0 + a.s1 * b.s1, a.s1 * b.s0 - a.s0 * b.s1)
                        : (float2)(0.0f);
            total += mine ? b.s0 : 0.0f;
        }
        sums[to] = sum;
        if (n == 0) {
            bias[head] = total;
        }
    }
}

// rows[h] = the taps of map h - first, followed by bias[h]
WORK_GROUP(WG, 1, 1)
kernel void conv_gather(global float *restrict rows, global const float *restrict maps,
                        global const float *restrict bias, conv_band m, int first,
                        int side)
{
    const int n = GROUP(0) * WG + LANE(0), taps = m.kh * m.kw, head = first + GROUP(2);
    if (head < m.heads && n <= taps) {
        const int i = ring_at(n / m.kw, m.kh, side), j = ring_at(n % m.kw, m.kw, side);
        const size_t at = (size_t)GROUP(2) * (size_t)m.size;
        rows[head * (taps + 1) + n] =
            n < taps ? maps[at + (size_t)i * (size_t)m.line + (size_t)j] : bias[head];
    }
}
