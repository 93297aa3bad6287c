/* relative_map_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef RELATIVE_MAP_ARGS_H
#define RELATIVE_MAP_ARGS_H

/* Sizes of the map, and clip as in relative_attention.clh. */
typedef struct map_shape {
    int sequences, longest_q, longest_k; // B, Tmax, Smax
    int clip;                            // R
} map_shape;

#endif
