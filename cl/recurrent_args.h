/* recurrent_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef RECURRENT_ARGS_H
#define RECURRENT_ARGS_H

/* See src/ops/recurrent.h. work holds the gates of each token, then the parts below at
 * these offsets in floats. */
typedef struct recurrent_shape {
    int sequences, width; // B, n
    int inputs;           // in: rows of the weights before the state's
    int groups;           // of sequences
    int reverse;          // 1: tokens are read from last to first
    int keep;             // 1: stores the parts that only backward reads
    int before;           // states before each token [N,n]
    int inner;            // LSTM, SRU: cells [N,n]; GRU: reset times state [N,n]
    int sums;             // gradients of the bias [groups,gates * n]
    int scratch, stride;  // own rows of each group, stride apart
    int add_h, add_c;     // 1: adds to the gradients of h0, c0
} recurrent_shape;

#endif
