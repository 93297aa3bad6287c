/* matmul_tile_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef MATMUL_TILE_ARGS_H
#define MATMUL_TILE_ARGS_H

/* How the result is cut: an item has rows x (panels * TILE_N) of it, and sums depth
 * inner indices (a multiple of CHUNK) at a time. */
typedef struct matmul_cut {
    int rows, panels, depth;
} matmul_cut;

#endif
