/* custom_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef CUSTOM_ARGS_H
#define CUSTOM_ARGS_H

enum { CUSTOM_INPUTS = 8, CUSTOM_RANK = 4 };

/* No array of arrays: Mesa 22.3 gets the size of one wrong. */
typedef struct custom_args {
    int tiles, items, run; // tiles of queries; tiles H B; items of a worker
    int turn;              // the launch, under the group schedule: an item of each run
    int sequences;         // B
    int apart;             // pairs further apart are masked
    int cell_heads, cell_rows, cell_columns; // of the cells of a sequence, if any
    int add;                  // bits: inputs whose gradients are added to, not written
    int slice;                // floats of one copy of the gradients of the inputs
    int start[CUSTOM_INPUTS]; // where in it an input's gradient begins
    int dim[CUSTOM_INPUTS * CUSTOM_RANK]; // CUSTOM_RANK sizes of each input
} custom_args;

#endif
