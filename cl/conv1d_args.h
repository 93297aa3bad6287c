/* conv1d_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef CONV1D_ARGS_H
#define CONV1D_ARGS_H

/* y[n] = act(b + sum over u of x[n + u - before] w[u]), inside n's sequence. x [N,in],
 * w [taps,in,out], y [N,out]. */
typedef struct conv_shape {
    int rows, in, out; // N and channels
    int taps, before;  // number of taps; how many of them lie before n
    int activation;    // 0 none, 1 relu, 2 tanh
    int run;           // rows of a group, if it has several
} conv_shape;

#endif
