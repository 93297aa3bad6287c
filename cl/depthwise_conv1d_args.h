/* depthwise_conv1d_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef DEPTHWISE_CONV1D_ARGS_H
#define DEPTHWISE_CONV1D_ARGS_H

typedef struct depthwise_shape {
    int rows, columns; // N, D
    int taps, before;  // how many of them lie before n
    int run;           // rows to a group
} depthwise_shape;

#endif
