/* matmul_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef MATMUL_ARGS_H
#define MATMUL_ARGS_H

/* y = act(op(a) op(b) + bias) + residual, for each matrix of a batch. Offsets, strides
 * from row to row (ld) and from matrix to matrix are in floats. */
typedef struct matmul_shape {
    int M, N, K;
    int a_offset, b_offset, y_offset, residual_offset;
    int a_ld, b_ld, y_ld, residual_ld;
    int a_stride, b_stride, y_stride, residual_stride;
    int transpose_a, transpose_b;
    int add;        // 1: adds to y
    int activation; // 0 none, 1 relu, 2 tanh
    int part;       // inner indices of each member of the batch, which are parts of one
                    // sum over K; 0: members have K each
} matmul_shape;

/* Results of a work-group that sums parts, and the slices into which it cuts these. */
enum { SUM_RESULTS = 64, SUM_SLICES = 4 };

#endif
