/* gaussian_attention_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef GAUSSIAN_ATTENTION_ARGS_H
#define GAUSSIAN_ATTENTION_ARGS_H

typedef struct gaussian_args {
    int sigma_step; // floats from a token's sigma to the next one's: H or 0
    float reach;    // keys over reach widths from a centre are hidden; may be infinite
    int center_mode, sigma_mode; // GRAD_*
} gaussian_args;

#endif
