/* layer_norm_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef LAYER_NORM_ARGS_H
#define LAYER_NORM_ARGS_H

/* layer_norm_gradients: a group has NORM_ROWS rows of dx, or sums NORM_COLUMNS columns
 * over at most NORM_RUNS runs with NORM_LANES items each. */
#define NORM_ROWS    4
#define NORM_COLUMNS 16
#define NORM_LANES   16
#define NORM_RUNS    64

/* Rows of columns numbers; moments [rows,2] are mean and 1/deviation of each; those of
 * rms_norm 0 and 1/root mean square. */
typedef struct norm_shape {
    int rows, columns; // N, D
    int run;           // rows of a run
    float eps;
} norm_shape;

#endif
