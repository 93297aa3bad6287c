/* matmul_vector.cl - a matrix times a vector: the sums are split over a work-group.
 *
 * Layout: as matmul.cl, for products of one row (y = a op(b)) or one column.
 * Work-group: WG items to COLUMNS results of one matrix of the batch, SLICES items to
 * each of them.
 * Defines: ALONG, 1 if the inner index is contiguous in the matrix: neighbouring items
 * then follow it, else the results; WEIGHTS, the matrix's number format;
 * BF16, 1 if both are rounded to bf16.
 * Local: WG floats.
 * Numerics: f32; a slice has every SLICES-th product, slices are added in pairs.
 * Writes: y whole (added to when add). */
#include "bf16.clh"
#include "matmul.clh"
#include "matmul_vector_args.h"
#include "weights.clh"

#ifndef ALONG
#define ALONG 1
#endif
#define WG      256
#define COLUMNS (ALONG ? 4 : 16)
#define SLICES  (WG / COLUMNS)
#define COLUMN  (ALONG ? LANE(0) / SLICES : LANE(0) % COLUMNS)
#define SLICE   (ALONG ? LANE(0) % SLICES : LANE(0) / COLUMNS)
#define NEXT    (ALONG ? 1 : COLUMNS) // from slice to slice in local memory

// y[i] = act(sum over k of m[i,k] x[k] + bias[i]) + residual[i]; the sum is multiplied
// with scale[i] if m has 8 bits
WORK_GROUP(WG, 1, 1)
kernel void matmul_vector(global float *y, global const weight *m,
                          global const float *x, global const float *bias,
                          global const float *residual, global const float *scale,
                          matmul_shape s, vector_args v)
{
    local float scratch[WG];
    const int across = (v.results + COLUMNS - 1) / COLUMNS;
    const int i = GROUP(0) % across * COLUMNS + COLUMN;
    const size_t batch = GROUP(0) / across;
    const int depth = i < v.results ? s.K : 0;
    float sum = 0.0f;
    m += s.a_offset + batch * s.a_stride + (size_t)i * v.outer;
    x += s.b_offset + batch * s.b_stride;
#if WEIGHTS != 1 // PoCL cannot unroll its vload_half, and warns
#pragma unroll 4
#endif
    for (int k = SLICE; k < depth; k += SLICES) {
        sum += rounded(WEIGHT_AT(m, (size_t)k * v.inner)) *
               rounded(x[(size_t)k * v.x_step]);
    }
    scratch[LANE(0)] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = SLICES / 2; n > 0; n /= 2) {
        if (SLICE < n) {
            scratch[LANE(0)] += scratch[LANE(0) + n * NEXT];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (SLICE == 0 && i < v.results) {
        global float *to = y + s.y_offset + batch * s.y_stride + (size_t)i * v.y_step;
        const float z = WEIGHT_SCALED(scratch[LANE(0)], scale, i);
        *to = matmul_tail(s.add ? *to + z : z, bias ? bias + i * v.bias_step : 0,
                          residual ? residual + s.residual_offset +
                                         batch * s.residual_stride +
                                         (size_t)i * v.residual_step
                                   : 0,
                          s.activation);
    }
}
