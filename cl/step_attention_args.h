/* step_attention_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef STEP_ATTENTION_ARGS_H
#define STEP_ATTENTION_ARGS_H

typedef struct step_shape {
    int heads;  // H
    int count;  // tokens of each sequence, the new one included
    int stride; // from row to row of place
    int reach;  // R of the distances
    float scale;
} step_shape;

#endif
