/* embedding_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef EMBEDDING_ARGS_H
#define EMBEDDING_ARGS_H

/* ids [rows] of a table [entries, columns]; an id outside the table gives zeros. */
typedef struct embedding_shape {
    int rows, columns, entries; // N, D, V
    int run;                    // rows, or entries, of a work-group
    float scale;
} embedding_shape;

/* Rows that a work-group sorts; rows, and parts of the tiles, of one that merges;
 * items, and most slices of the rows, of one that sums. */
enum {
    EMBEDDING_TILE = 256,
    EMBEDDING_MERGED = 32,
    EMBEDDING_PARTS = 8,
    EMBEDDING_WG = 128,
    EMBEDDING_SLICES = 16
};

#endif
