/* sru.cl - a simple recurrent unit (SRU), a column of a sequence to each work-item.
 *
 * Layout: packed rows; work as recurrent_args.h. gates [N,3n], in the order z, f, r,
 * hold x w_x + b at first, after forward z, f and r, after backward the
 * gradients of the pre-activations; inner holds the cells [N,n].
 * Work-group: WG items along the width of the state; grid (sequences, runs of WG
 * columns). Each goes through time with its own column; no item waits for another. It
 * reads AHEAD tokens at once, since what they hold does not depend on the cell.
 * Defines: WG.
 * Numerics: f32, element by element.
 * Writes: y and c whole; the gradient of c0 whole (added to when add_c). */
#include "recurrent_group.clh"

#define AHEAD 8

/* The item's column of a sequence; without tokens behind the last column. */
typedef struct column {
    int index, length, row, step; // of the sequence in the batch; its tokens
    int j;
} column;

INLINE column column_of(global const int *offsets, recurrent_shape s)
{
    column own;
    const int b = sequence_at(offsets, s, GROUP(0));
    own.j = GROUP(1) * WG + LANE(0);
    own.index = b;
    own.length = own.j < s.width ? offsets[b + 1] - offsets[b] : 0;
    own.row = s.reverse ? offsets[b + 1] - 1 : offsets[b];
    own.step = s.reverse ? -1 : 1;
    return own;
}

/* Returns the row of token t, or of the nearest one that there is. */
INLINE size_t column_row(column own, int t)
{
    return (size_t)(own.row + clamp(t, 0, own.length - 1) * own.step);
}

// c = tanh(f c' + (1 - f) z), h = r c + (1 - r) z, with c' of the previous token
WORK_GROUP(WG, 1, 1)
kernel void sru_forward(global float *y, global float *c, global float *work,
                        global const float *c0, global const int *offsets,
                        recurrent_shape s)
{
    const column own = column_of(offsets, s);
    const int n = s.width, j = own.j;
    const size_t state = (size_t)own.index * n + j;
    float cell = c0 && j < n ? c0[state] : 0.0f;
    for (int first = 0; first < own.length; first += AHEAD) {
        float z[AHEAD], f[AHEAD], r[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            global const float *gate = work + column_row(own, first + i) * 3 * n + j;
            z[i] = gate[0];
            f[i] = gate[n];
            r[i] = gate[2 * n];
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (first + i < own.length) {
                const size_t at = column_row(own, first + i);
                global float *gate = work + at * 3 * n + j;
                const float forget = sigmoid(f[i]), reset = sigmoid(r[i]);
                cell = tanh(forget * cell + (1.0f - forget) * z[i]);
                gate[n] = forget;
                gate[2 * n] = reset;
                work[s.inner + at * n + j] = cell;
                y[at * n + j] = reset * cell + (1.0f - reset) * z[i];
            }
        }
    }
    if (c && j < n) {
        c[state] = cell;
    }
}

/* A token in one column: input, gates, cells and the gradient of its result. */
typedef struct token {
    float x, f, r, c, before, dy; // before: the cell of the token before
} token;

INLINE token token_get(global const float *work, global const float *dy,
                       global const float *c0, recurrent_shape s, column own, int t)
{
    const int n = s.width, j = own.j;
    const size_t at = column_row(own, t);
    global const float *gate = work + at * 3 * n + j, *cells = work + s.inner + j;
    token z;
    z.x = gate[0];
    z.f = gate[n];
    z.r = gate[2 * n];
    z.c = cells[at * n];
    z.before = t > 0 ? cells[column_row(own, t - 1) * n]
               : c0  ? c0[(size_t)own.index * n + j]
                     : 0.0f;
    z.dy = dy ? dy[at * n + j] : 0.0f;
    return z;
}

// replaces gates by the gradients of their pre-activations, last token first:
//   dc' = dc (1 - c^2) f
WORK_GROUP(WG, 1, 1)
kernel void sru_backward(global float *dc0, global float *work, global const float *dy,
                         global const float *dc, global const float *c0,
                         global const int *offsets, recurrent_shape s)
{
    const column own = column_of(offsets, s);
    const int n = s.width, j = own.j;
    const size_t state = (size_t)own.index * n + j;
    float carried = dc && j < n ? dc[state] : 0.0f;
    float sum_z = 0.0f, sum_f = 0.0f, sum_r = 0.0f;
    for (int last = own.length - 1; last >= 0; last -= AHEAD) {
        token z[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            z[i] = token_get(work, dy, c0, s, own, last - i);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            if (last - i >= 0) {
                global float *gate = work + column_row(own, last - i) * 3 * n + j;
                const float x = z[i].x, f = z[i].f, r = z[i].r, c = z[i].c;
                const float to_h = z[i].dy;
                const float to_sum = (carried + to_h * r) * (1.0f - c * c);
                const float of_z = to_h * (1.0f - r) + to_sum * (1.0f - f);
                const float of_f = to_sum * (z[i].before - x) * f * (1.0f - f);
                const float of_r = to_h * (c - x) * r * (1.0f - r);
                carried = to_sum * f;
                gate[0] = of_z;
                gate[n] = of_f;
                gate[2 * n] = of_r;
                sum_z += of_z;
                sum_f += of_f;
                sum_r += of_r;
            }
        }
    }
    if (j < n) {
        global float *sums = work + s.sums + (size_t)GROUP(0) * 3 * n + j;
        sums[0] = sum_z;
        sums[n] = sum_f;
        sums[2 * n] = sum_r;
        if (dc0) {
            dc0[state] = s.add_c ? dc0[state] + carried : carried;
        }
    }
}
