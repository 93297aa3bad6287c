/* attention_map_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef ATTENTION_MAP_ARGS_H
#define ATTENTION_MAP_ARGS_H

/* Sizes of the map, and of the biases on its scores. */
typedef struct map_shape {
    int sequences, longest_q, longest_k; // B, Tmax, Smax
    int window, area, edge;              // window 0 = all keys
    int t;                               // of absolute and relative
} map_shape;

#endif
