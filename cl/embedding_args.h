/* embedding_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef EMBEDDING_ARGS_H
#define EMBEDDING_ARGS_H

/* ids [rows] of a table [entries, columns]; an id outside the table gives zeros. */
typedef struct embedding_shape {
    int rows, columns, entries; // N, D, V
    int run;                    // rows, or entries, of a work-group
    float scale;
} embedding_shape;

#endif
