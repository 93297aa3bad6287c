/* depthwise_conv1d.cl - convolution along packed sequences, each channel by itself.
 *
 * Layout: x, y [N,D]; w [taps,D]; spans [N] start and end of the row's sequence;
 * partial [groups,taps,D].
 * Work-group: WG items along the channels of a run of rows; WG is 1 on CPU devices,
 * where the loop becomes vector code. Elsewhere a group of depthwise_conv1d_weights has
 * one tap and WG channels: grid (runs, taps x runs of WG channels).
 * Defines: WG.
 * Numerics: f32 sums in the order of the rows.
 * Writes: y whole (added to when add), partial whole. */
#include "depthwise_conv1d_args.h"

#ifndef WG
#define WG 64
#endif

// y[n,c] (+)= sum over u of x[n + u - before, c] w[u,c]; turned: of w[taps - 1 - u, c]
WORK_GROUP(WG, 1, 1)
kernel void depthwise_conv1d_rows(global float *restrict y,
                                  global const float *restrict x,
                                  global const float *restrict w,
                                  global const int2 *restrict spans, depthwise_shape s,
                                  int turned, int add)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        const int2 span = spans[row];
        global float *to = y + (size_t)row * s.columns;
        for (int c = LANE(0); c < s.columns && !add; c += WG) {
            to[c] = 0.0f;
        }
        for (int u = 0; u < s.taps; u++) {
            const int from = row + u - s.before;
            if (from < span.x || from >= span.y) {
                continue;
            }
            global const float *a = x + (size_t)from * s.columns;
            global const float *b = w + (turned ? s.taps - 1 - u : u) * s.columns;
            for (int c = LANE(0); c < s.columns; c += WG) {
                to[c] += a[c] * b[c];
            }
        }
    }
}

// partial[run,u,c] = sum over the run's rows of dy[n,c] x[n + u - before, c]
WORK_GROUP(WG, 1, 1)
kernel void depthwise_conv1d_weights(global float *restrict partial,
                                     global const float *restrict x,
                                     global const float *restrict dy,
                                     global const int2 *restrict spans,
                                     depthwise_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
#if WG > 1
    const int u = GROUP(1) % s.taps, c = GROUP(1) / s.taps * WG + LANE(0);
    if (c >= s.columns) {
        return;
    }
    float sum = 0.0f;
    for (int row = first; row < last; row++) {
        const int2 span = spans[row];
        const int from = row + u - s.before;
        if (from >= span.x && from < span.y) {
            sum += x[(size_t)from * s.columns + c] * dy[(size_t)row * s.columns + c];
        }
    }
    partial[((size_t)GROUP(0) * s.taps + u) * s.columns + c] = sum;
#else
    for (int u = 0; u < s.taps; u++) {
        global float *to = partial + ((size_t)GROUP(0) * s.taps + u) * s.columns;
        for (int c = 0; c < s.columns; c++) {
            to[c] = 0.0f;
        }
        for (int row = first; row < last; row++) {
            const int2 span = spans[row];
            const int from = row + u - s.before;
            if (from < span.x || from >= span.y) {
                continue;
            }
            global const float *a = x + (size_t)from * s.columns;
            global const float *g = dy + (size_t)row * s.columns;
            for (int c = 0; c < s.columns; c++) {
                to[c] += a[c] * g[c];
            }
        }
    }
#endif
}
