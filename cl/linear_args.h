/* linear_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef LINEAR_ARGS_H
#define LINEAR_ARGS_H

/* linear_gradients: the columns that a group sums, and the most runs. */
#define LINEAR_COLUMNS 16
#define LINEAR_RUNS    16

/* Columns are summed over runs of rows first, then over the runs, in this order. */
typedef struct linear_shape {
    int rows, cols, run, runs;
    int activation; // 0 none, 1 relu, 2 tanh
} linear_shape;

#endif
