/* elementwise.cl - columns copied or side by side, heads scaled by a learned number.
 *
 * Layout: columns: rows of floats with a start and a stride. heads: x and dx [N,H,d]
 *   with a start and a stride, y and dy contiguous; gamma [H].
 * Work-group: WG items along the columns of a run of rows; WG is 1 on CPU devices,
 *   where the loop becomes vector code.
 * Defines: WG, a power of two.
 * Numerics: one rounding an element; sums for dgamma in f32, of each item over the
 *   group's rows, then by a tree over the items.
 * Writes: outputs whole; gradients are added to when add. */
#include "elements.clh"
#include "elementwise.clh"

// to[row, c] (+)= from[row, c]
WORK_GROUP(WG, 1, 1)
kernel void columns_copy(global float *restrict to, global const float *restrict from,
                         columns_shape s, int add)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        global float *t = to + (size_t)row * s.to_stride + s.to_at;
        global const float *f = from + (size_t)row * s.from_stride + s.from_at;
        for (int c = LANE(0); c < s.columns; c += WG) {
            t[c] = add ? t[c] + f[c] : f[c];
        }
    }
}

// y[row] = (a[row], b[row])
WORK_GROUP(WG, 1, 1)
kernel void concat_forward(global float *restrict y, global const float *a,
                           global const float *b, concat_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    const int A = s.columns[0], B = s.columns[1];
    for (int row = first; row < last; row++) {
        global float *to = y + (size_t)row * (A + B);
        for (int c = LANE(0); c < A; c += WG) {
            to[c] = a[(size_t)row * A + c];
        }
        for (int c = LANE(0); c < B; c += WG) {
            to[A + c] = b[(size_t)row * B + c];
        }
    }
}

/* da (+)= the first columns of dy, db (+)= the others. Both may be null, or the same
 * buffer. */
WORK_GROUP(WG, 1, 1)
kernel void concat_backward(global float *da, global float *db,
                            global const float *restrict dy, concat_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    const int A = s.columns[0], B = s.columns[1];
    for (int row = first; row < last; row++) {
        global const float *from = dy + (size_t)row * (A + B);
        global float *a = da ? da + (size_t)row * A : 0;
        global float *b = db ? db + (size_t)row * B : 0;
        for (int c = LANE(0); da && c < A; c += WG) {
            a[c] = s.adds & 1 ? a[c] + from[c] : from[c];
        }
        for (int c = LANE(0); db && c < B; c += WG) {
            b[c] = s.adds & 2 ? b[c] + from[A + c] : from[A + c];
        }
    }
}

// y[n,h,c] = gamma[h] x[n,h,c]
WORK_GROUP(WG, 1, 1)
kernel void scale_heads_forward(global float *restrict y,
                                global const float *restrict x,
                                global const float *restrict gamma, heads_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        for (int h = 0; h < s.heads; h++) {
            global float *to = y + head_at(s, row, h);
            global const float *from = x + head_in(s, row, h);
            for (int c = LANE(0); c < s.width; c += WG) {
                to[c] = gamma[h] * from[c];
            }
        }
    }
}

// dx (+)= gamma[h] dy; partial[group,h] = sum over the group's rows of <x, dy>
WORK_GROUP(WG, 1, 1)
kernel void scale_heads_backward(global float *restrict dx,
                                 global float *restrict partial,
                                 global const float *restrict x,
                                 global const float *restrict dy,
                                 global const float *restrict gamma, heads_shape s,
                                 int add)
{
    local float scratch[WG];
    const int lid = LANE(0), first = GROUP(0) * s.run,
              last = min(first + s.run, s.rows);
    for (int h = 0; h < s.heads; h++) {
        float dot = 0.0f;
        for (int row = first; row < last; row++) {
            const size_t at = head_at(s, row, h), in = head_in(s, row, h);
            for (int c = lid; c < s.width; c += WG) {
                const float g = gamma[h] * dy[at + c];
                dot += x[in + c] * dy[at + c];
                if (dx) {
                    dx[in + c] = add ? dx[in + c] + g : g;
                }
            }
        }
        dot = group_sum(dot, scratch, lid, WG);
        if (partial && lid == 0) {
            partial[GROUP(0) * s.heads + h] = dot;
        }
    }
}
