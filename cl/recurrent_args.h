/* recurrent_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef RECURRENT_ARGS_H
#define RECURRENT_ARGS_H

/* As in src/ops/recurrent.h. work holds, one after the other, the gates of each token
 * and these parts, whose places are in floats. */
typedef struct recurrent_shape {
    int sequences, width; // B, n
    int inputs;           // in: rows of the weights in front of those of the state
    int groups;           // of sequences
    int reverse;          // the last token is the first one
    int keep;             // what only the way back reads
    int before;           // states in front of each token [N,n]
    int inner;            // LSTM: cells [N,n]; GRU: reset times state [N,n]
    int sums;             // gradients of the bias [groups,gates * n]
    int scratch, stride;  // of each group
    int add_h, add_c;     // to gradients of the first states
} recurrent_shape;

#endif
