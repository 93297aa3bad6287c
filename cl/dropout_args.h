/* dropout_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef DROPOUT_ARGS_H
#define DROPOUT_ARGS_H

/* Rows of columns elements; the draws depend on seed, step, stream, row and column. */
typedef struct dropout_shape {
    int rows, columns;
    int run;    // rows of a work-group
    float drop; // probability
    unsigned seed, step, stream;
    unsigned first_row; // row 0's index in the whole batch
} dropout_shape;

#endif
