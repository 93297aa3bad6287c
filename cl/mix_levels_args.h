/* mix_levels_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef MIX_LEVELS_ARGS_H
#define MIX_LEVELS_ARGS_H

enum { MIX_AT_ONCE = 4 }; // most tensors of a launch

typedef struct mix_args {
    int count, depth;
    int first, given; // this launch has tensors first .. first+given-1
    int mode;         // GRAD_* of dx
} mix_args;

#endif
