/* ragged_cross_entropy_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef RAGGED_CROSS_ENTROPY_ARGS_H
#define RAGGED_CROSS_ENTROPY_ARGS_H

typedef struct pointer_args {
    int sequences;
    int given;   // 1: x are probabilities, the cost is -ln(x + least)
    float least; // added to probabilities before the logarithm
    int add;
} pointer_args;

#endif
