/* mix_levels_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef MIX_LEVELS_ARGS_H
#define MIX_LEVELS_ARGS_H

enum { MIX_AT_ONCE = 4 }; // tensors to a launch

typedef struct mix_args {
    int count, depth;
    int first, given; // tensors first .. first+given-1 are this launch's
    int mode;         // of a gradient: GRAD_*
} mix_args;

#endif
