/* conv_band_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef CONV_BAND_ARGS_H
#define CONV_BAND_ARGS_H

/* Rows first..last-1 of the maps of pair, pair + 1, ... */
typedef struct conv_band {
    int pair, heads;            // first pair of the batch; H
    int first, last;            // rows of this launch
    int mask, line, edge, size; // of a band: ring mask, row stride, edge zeros, floats
    int kh, kw;
} conv_band;

/* Offsets and strides of rows of tokens, in floats. */
typedef struct conv_tokens {
    int width;          // d
    int x_at, x_stride; // of x, or of a product's result
    int y_at, y_stride;
    float scale;
    int mode; // GRAD_*
} conv_tokens;

/* Slopes, and the filter of 3 x 3 before them. */
typedef struct conv_shaping {
    conv_band m;
    conv_tokens r;
    int activation;
} conv_shaping;

/* Three products over the same rows of maps: by rows for q, by columns for k and v. */
typedef struct conv_three {
    conv_band m;
    conv_tokens q, k, v;
    int q_tiles, k_tiles; // work-groups, dimension 1: the others are for v
} conv_three;

#endif
