/* conv_attention_1d_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef CONV_ATTENTION_1D_ARGS_H
#define CONV_ATTENTION_1D_ARGS_H

typedef struct table_args {
    int t, line;    // longest sequence; floats from row to row of a map
    int activation; // 0 none, 1 relu, 2 tanh
    int sequences;  // B
    int run;        // sequences whose gradients of w one item or group sums
} table_args;

/* Offset and stride of the rows of a tensor with heads, in floats. */
typedef struct rows_of {
    int at, stride;
} rows_of;

#endif
