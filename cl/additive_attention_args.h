/* additive_attention_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef ADDITIVE_ATTENTION_ARGS_H
#define ADDITIVE_ATTENTION_ARGS_H

typedef struct additive_args {
    int inner, width;    // a, d
    int sequences;       // B
    int m, q, v, values; // GRAD_*: what to do with their gradients
} additive_args;

#endif
