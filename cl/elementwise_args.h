/* elementwise_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef ELEMENTWISE_ARGS_H
#define ELEMENTWISE_ARGS_H

/* Columns of one row-major array copied into those of another; all in floats. */
typedef struct columns_shape {
    int rows, columns;
    int run; // rows to a group
    int to_at, to_stride, from_at, from_stride;
} columns_shape;

/* Two row-major arrays [rows,columns[i]] beside their columns side by side, whose rows
 * are the sum of both long. */
typedef struct concat_shape {
    int rows, columns[2];
    int run;  // rows to a group
    int adds; // bits: which part is added to
} concat_shape;

/* x [N,H,d], whose rows begin at x_at and lie x_stride apart. */
typedef struct heads_shape {
    int rows, heads, width; // N, H, d
    int run;                // rows to a group
    int x_at, x_stride;
} heads_shape;

#endif
