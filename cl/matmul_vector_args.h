/* matmul_vector_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef MATMUL_VECTOR_ARGS_H
#define MATMUL_VECTOR_ARGS_H

typedef struct vector_args {
    int results, y_step, bias_step, residual_step;
    int x_step, outer, inner; // of x by k; of the matrix by result, by k
} vector_args;

#endif
