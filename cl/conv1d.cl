/* conv1d.cl - convolution along packed sequences: a product of rows for each tap.
 *
 * Layout: x [N,in], y [N,out], w [taps,in,out], spans [N] (start and end of the row's
 * sequence); partial [runs,taps,in,out].
 * Work-group: 64 items to 32 x 32 results.
 * Defines: none; conv1d_sum has WG items, an element each.
 * Local: 2 tiles of 16 x 33 floats.
 * Numerics: f32 sums, taps and channels in order, rows in order.
 * Writes: y, partial, dw whole (y and dw are added to when add). */
#include "conv1d.clh"
#include "product_group.clh"

#ifndef WG
#define WG 64
#endif

/* a[k][r] = x[first + r + shift][k0 + k], zeros outside the row's sequence. */
INLINE void load_rows(local float *a, global const float *x, global const int2 *spans,
                      int first, int shift, int k0, conv_shape s, int lid)
{
    for (int i = lid; i < SIDE * DEPTH; i += ITEMS) {
        const int r = i / DEPTH, k = i % DEPTH, row = first + r, from = row + shift;
        const int2 span = spans[min(row, s.rows - 1)];
        const int inside =
            row < s.rows && from >= span.x && from < span.y && k0 + k < s.in;
        a[k * STEP + r] = inside ? x[(size_t)from * s.in + k0 + k] : 0.0f;
    }
}

/* b[k][j] = w[tap][k0 + k][o + j]; flipped: of the last tap first, transposed. */
INLINE void load_weights(local float *b, global const float *w, int tap, int k0, int o,
                         conv_shape s, int flipped, int lid)
{
    w += (size_t)(flipped ? s.taps - 1 - tap : tap) * s.in * s.out;
    for (int i = lid; i < SIDE * DEPTH; i += ITEMS) {
        const int k = flipped ? k0 + i % DEPTH : k0 + i / SIDE;
        const int j = flipped ? o + i / DEPTH : o + i % SIDE;
        const size_t at = flipped ? (size_t)j * s.in + k : (size_t)k * s.out + j;
        b[(k - k0) * STEP + j - o] = k < s.in && j < s.out ? w[at] : 0.0f;
    }
}

// y (+)= act(b + sum over u of x[n + u - before] w[u])
WORK_GROUP(ITEMS, 1, 1)
kernel void conv1d_rows(global float *restrict y, global const float *restrict x,
                        global const float *restrict w,
                        global const float *restrict bias,
                        global const int2 *restrict spans, conv_shape s, int flipped,
                        int add)
{
    local float a[TILE], b[TILE];
    const int lid = LANE(0), across = (s.out + SIDE - 1) / SIDE;
    const int first = GROUP(0) / across * SIDE, o = GROUP(0) % across * SIDE;
    float sum[4][4];
    clear_sums(sum);
    for (int tap = 0; tap < s.taps; tap++) {
        for (int k = 0; k < s.in; k += DEPTH) {
            load_rows(a, x, spans, first, tap - s.before, k, s, lid);
            load_weights(b, w, tap, k, o, s, flipped, lid);
            barrier(CLK_LOCAL_MEM_FENCE);
            product_step(sum, a, b, lid);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const int row = first + lid / 8 * 4 + i, column = o + lid % 8 * 4 + j;
            if (row < s.rows && column < s.out) {
                const size_t at = (size_t)row * s.out + column;
                const float z = conv_activate(sum[i][j] + (bias ? bias[column] : 0.0f),
                                              s.activation);
                y[at] = add ? y[at] + z : z;
            }
        }
    }
}

/* b[k][j] = g[row + k][o + j] */
INLINE void load_gradient(local float *b, global const float *g, int row, int last,
                          int o, int out, int lid)
{
    for (int i = lid; i < SIDE * DEPTH; i += ITEMS) {
        const int k = i / SIDE, j = i % SIDE;
        const int inside = row + k < last && o + j < out;
        b[k * STEP + j] = inside ? g[(size_t)(row + k) * out + o + j] : 0.0f;
    }
}

/* a[k][i] = x[row + k + shift][c + i], zeros outside the row's sequence. */
INLINE void load_columns(local float *a, global const float *x,
                         global const int2 *spans, int row, int shift, int c,
                         conv_shape s, int lid)
{
    for (int i = lid; i < SIDE * DEPTH; i += ITEMS) {
        const int k = i / SIDE, j = i % SIDE, n = row + k, from = n + shift;
        const int2 span = spans[min(n, s.rows - 1)];
        const int inside =
            n < s.rows && from >= span.x && from < span.y && c + j < s.in;
        a[k * STEP + j] = inside ? x[(size_t)from * s.in + c + j] : 0.0f;
    }
}

// partial[run, tap] = sum over the run's rows of x[row + tap - before]' g[row]
WORK_GROUP(ITEMS, 1, 1)
kernel void conv1d_weights(global float *restrict partial,
                           global const float *restrict x,
                           global const float *restrict g,
                           global const int2 *restrict spans, conv_shape s)
{
    local float a[TILE], b[TILE];
    const int lid = LANE(0), across = (s.out + SIDE - 1) / SIDE;
    const int c = GROUP(1) / across * SIDE, o = GROUP(1) % across * SIDE;
    const int tap = GROUP(0) % s.taps, run = GROUP(0) / s.taps;
    const int last = min((run + 1) * s.run, s.rows);
    float sum[4][4];
    clear_sums(sum);
    for (int row = run * s.run; row < last; row += DEPTH) {
        load_columns(a, x, spans, row, tap - s.before, c, s, lid);
        load_gradient(b, g, row, last, o, s.out, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(sum, a, b, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const int k = c + lid / 8 * 4 + i, column = o + lid % 8 * 4 + j;
            if (k < s.in && column < s.out) {
                partial[((size_t)GROUP(0) * s.in + k) * s.out + column] = sum[i][j];
            }
        }
    }
}

// dw (+)= sum over the runs of partial, whose rows are width apart; for both schedules
WORK_GROUP(WG, 1, 1)
kernel void conv1d_sum(global float *restrict dw, global const float *restrict partial,
                       conv_shape s, int runs, int width, int add)
{
    const int i = GROUP(0) * WG + LANE(0), size = s.taps * s.in * s.out;
    if (i < size) {
        float sum = add ? dw[i] : 0.0f;
        for (int run = 0; run < runs; run++) {
            const size_t row = (size_t)run * s.taps * s.in + i / s.out;
            sum += partial[row * width + i % s.out];
        }
        dw[i] = sum;
    }
}
