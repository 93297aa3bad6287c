/* depthwise_conv1d_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef DEPTHWISE_CONV1D_ARGS_H
#define DEPTHWISE_CONV1D_ARGS_H

typedef struct depthwise_shape {
    int rows, columns; // N, D
    int taps, before;  // taps of w; how many of them precede row n
    int run;           // rows of a work-group
} depthwise_shape;

#endif
