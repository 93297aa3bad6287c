/* position_attention_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef POSITION_ATTENTION_ARGS_H
#define POSITION_ATTENTION_ARGS_H

typedef struct position_args {
    int t;                  // positions that the parameters cover
    int longest;            // tokens of the longest sequence
    int step, center, size; // of a head's table, in floats
    int parts;              // arrays of sums for a head and run: one a tile, or one
    int sequences, run;     // B; sequences whose gradients are summed in turn
    int turn;               // number in its run of the sequence of a launch (GPUs)
    int turned;             // 1: in forward n counts keys and m queries
} position_args;

#endif
