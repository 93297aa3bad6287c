/* char_cnn_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef CHAR_CNN_ARGS_H
#define CHAR_CNN_ARGS_H

typedef struct char_shape {
    int words, in, out;
    int taps, before; // how many of the taps lie before a row
} char_shape;

#endif
