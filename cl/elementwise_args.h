/* elementwise_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef ELEMENTWISE_ARGS_H
#define ELEMENTWISE_ARGS_H

/* Columns copied from one row-major array to another; starts and strides in floats. */
typedef struct columns_shape {
    int rows, columns;
    int run; // rows of a work-group
    int to_at, to_stride, from_at, from_stride;
} columns_shape;

/* Two row-major arrays [rows,columns[i]], and one with the columns of both side by
 * side. */
typedef struct concat_shape {
    int rows, columns[2];
    int run;  // rows of a work-group
    int adds; // bit i: add to part i
} concat_shape;

/* x [N,H,d], whose rows begin at x_at and lie x_stride apart. */
typedef struct heads_shape {
    int rows, heads, width; // N, H, d
    int run;                // rows of a work-group
    int x_at, x_stride;
} heads_shape;

#endif
