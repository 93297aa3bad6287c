/* rotary_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef ROTARY_ARGS_H
#define ROTARY_ARGS_H

/* x [N,heads,width]; of the first `turned` heads `pairs` pairs are turned. */
typedef struct rotary_shape {
    int heads, width;  // H, d
    int turned, pairs; // heads; r
    int places;        // P
    int back;          // turn by the opposite angle
} rotary_shape;

#endif
