/* length_sigmoid_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef LENGTH_SIGMOID_ARGS_H
#define LENGTH_SIGMOID_ARGS_H

typedef struct length_args {
    int columns;              // C
    float slope, shift, base; // y = (slope len + shift) sigmoid(x) + base
} length_args;

#endif
