/* matmul_vector_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef MATMUL_VECTOR_ARGS_H
#define MATMUL_VECTOR_ARGS_H

typedef struct vector_args {
    int results, y_step, bias_step, residual_step;
    int x_step, outer, inner; // from k to k + 1; of the matrix, from result to result
} vector_args;

#endif
