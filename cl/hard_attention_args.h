/* hard_attention_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef HARD_ATTENTION_ARGS_H
#define HARD_ATTENTION_ARGS_H

typedef struct gate_args {
    int gate, top;               // GATE_*; how many gates GATE_TOP opens
    unsigned seed, step, stream; // key of the draws
    unsigned first_row;          // first query's row in the whole batch
} gate_args;

/* Products of a sequence; norm may be null. hard_sum has the first two forms. There a
 * w of 0, a closed gate, adds nothing, whatever x holds.
 *   MIX:    y_i (+)= scale norm_i sum_j w_ij x_j, y the queries' rows and x the keys'
 *   GATHER: y_j (+)= scale sum_i w_ij norm_i x_i, y the keys' rows and x the queries'
 *   SCORES: y_ij = scale <w_i, x_j>, w the queries' rows, x the keys', y the map */
enum { MIX, GATHER, SCORES };

typedef struct product_args {
    int width; // D
    int form, add;
    float scale;
} product_args;

#endif
