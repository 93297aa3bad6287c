/* position_attention_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef POSITION_ATTENTION_ARGS_H
#define POSITION_ATTENTION_ARGS_H

typedef struct position_args {
    int t;                  // tokens that the parameters are for
    int longest;            // tokens of the longest sequence
    int step, center, size; // of a head's table, in floats
    int parts;              // arrays of sums for a head and run: one a tile, or one
    int sequences, run;     // B; how many of them a group goes through for the sums
    int turned;             // whether n counts keys and m queries, forward
} position_args;

#endif
