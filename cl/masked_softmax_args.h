/* masked_softmax_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef MASKED_SOFTMAX_ARGS_H
#define MASKED_SOFTMAX_ARGS_H

/* Rows are (b, h, t) in that order. A row keeps its first keys, so their number
 * describes its mask. */
typedef struct rows_shape {
    int rows, heads, queries, keys; // rows = B*H*T
    int causal;                     // key s visible to query t when s <= t + S - T
} rows_shape;

#endif
