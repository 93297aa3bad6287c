/* matmul_sum.cl - the last step of products whose inner index was cut: sums the parts.
 *
 * Layout: partial [parts,M,N]; y and residual as in matmul.cl.
 * Work-group: SUM_RESULTS results, which lie side by side, by SUM_SLICES of the parts.
 * Defines: none.
 * Local: 1 KiB.
 * Numerics: f32; the parts of a slice in order, then the slices: the same bits every
 * time.
 * Writes: y whole (added to when add). */
#include "matmul.clh"

// y = act(sum over parts of partial + bias) + residual
WORK_GROUP(SUM_RESULTS *SUM_SLICES, 1, 1)
kernel void matmul_sum(global float *y, global const float *restrict partial,
                       global const float *bias, global const float *residual,
                       matmul_shape s, int parts)
{
    local float sums[SUM_RESULTS * SUM_SLICES];
    const int lane = LANE(0) % SUM_RESULTS, slice = LANE(0) / SUM_RESULTS;
    const int e = GROUP(0) * SUM_RESULTS + lane, size = s.M * s.N;
    const int each = (parts + SUM_SLICES - 1) / SUM_SLICES;
    float sum = 0.0f;
    if (e < size) {
        const int last = min((slice + 1) * each, parts);
        for (int part = slice * each; part < last; part++) {
            sum += partial[(size_t)part * size + e];
        }
    }
    sums[LANE(0)] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slice == 0 && e < size) {
        for (int i = 1; i < SUM_SLICES; i++) {
            sum += sums[i * SUM_RESULTS + lane];
        }
        const int row = e / s.N, column = e % s.N;
        global float *to = y + s.y_offset + (size_t)row * s.y_ld + column;
        *to = matmul_tail(s.add ? *to + sum : sum, bias ? bias + column : 0,
                          residual ? residual + s.residual_offset +
                                         (size_t)row * s.residual_ld + column
                                   : 0,
                          s.activation);
    }
}
