/* cross_entropy_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef CROSS_ENTROPY_ARGS_H
#define CROSS_ENTROPY_ARGS_H

/* Rows of logits [rows, columns]; a target outside 0 .. columns-1 is not counted. The
 * gold word has probability gold, each other one rest. */
typedef struct entropy_shape {
    int rows, columns; // N, V
    int run;           // rows of a group, if it has several
    float gold, rest;
} entropy_shape;

#endif
