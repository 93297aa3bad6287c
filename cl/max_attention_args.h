/* max_attention_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef MAX_ATTENTION_ARGS_H
#define MAX_ATTENTION_ARGS_H

enum { MAX_RUN = 8 }; // rows of a run

typedef struct max_args {
    int width; // d
    int mode;  // GRAD_* of the gradient
} max_args;

#endif
