/* band_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef BAND_ARGS_H
#define BAND_ARGS_H

typedef struct band_args {
    int radius;                 // window / 2
    int area, edge;             // heads attended, EDGE_*
    int q_mode, k_mode, v_mode; // GRAD_*, backward only
} band_args;

#endif
