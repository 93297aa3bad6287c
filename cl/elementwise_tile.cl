/* elementwise_tile.cl - the gradients of scaled heads for CPU devices; each work-item
 * has a run of rows.
 *
 * Layout: x and dx [N,H,d] with a start and a stride, dy contiguous; gamma [H].
 * Work-group: 1 item, a run of rows each.
 * Defines: VEC, the native width.
 * Numerics: f32 sums of VEC lanes.
 * Writes: dx whole (added to when add); partial [groups,H]. */
#include "elementwise.clh"
#include "vector.clh"

/* dx (+)= scale dy over one head of one row; returns <x, dy>. */
INLINE float head_backward(global float *dx, global const float *x,
                           global const float *dy, int width, float scale, int add)
{
    floatv sum = (floatv)(0.0f);
    int c = 0;
    for (; c + VEC <= width; c += VEC) {
        const floatv g = loadv(0, dy + c);
        sum += loadv(0, x + c) * g;
        if (dx) {
            storev(add ? loadv(0, dx + c) + g * scale : g * scale, 0, dx + c);
        }
    }
    float total = sum_lanes(sum);
    for (; c < width; c++) {
        total += x[c] * dy[c];
        if (dx) {
            dx[c] = add ? dx[c] + scale * dy[c] : scale * dy[c];
        }
    }
    return total;
}

// dx (+)= gamma[h] dy; partial[group,h] = sum over the group's rows of <x, dy>
WORK_GROUP(1, 1, 1)
kernel void scale_heads_backward(global float *restrict dx,
                                 global float *restrict partial,
                                 global const float *restrict x,
                                 global const float *restrict dy,
                                 global const float *restrict gamma, heads_shape s,
                                 int add)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int h = 0; h < s.heads; h++) {
        float dot = 0.0f;
        for (int row = first; row < last; row++) {
            const size_t in = head_in(s, row, h);
            dot += head_backward(dx ? dx + in : 0, x + in, dy + head_at(s, row, h),
                                 s.width, gamma[h], add);
        }
        if (partial) {
            partial[GROUP(0) * s.heads + h] = dot;
        }
    }
}
