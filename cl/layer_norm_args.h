/* layer_norm_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef LAYER_NORM_ARGS_H
#define LAYER_NORM_ARGS_H

/* layer_norm_gradients: a group has so many rows of dx, or sums so many columns over at
 * most so many runs, which its rows of items share. */
#define NORM_ROWS    4
#define NORM_COLUMNS 16
#define NORM_LANES   16
#define NORM_RUNS    64

/* Rows of columns numbers; moments [rows,2] are mean and 1/deviation of each. */
typedef struct norm_shape {
    int rows, columns; // N, D
    int run;           // rows to a group where it has several
    float eps;
} norm_shape;

#endif
