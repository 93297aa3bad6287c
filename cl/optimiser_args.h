/* optimiser_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef OPTIMISER_ARGS_H
#define OPTIMISER_ARGS_H

typedef struct optimiser_rates {
    float lr, epsilon;
    float shrink; // lr times the weight decay
    // of each running mean: decay, 1 - decay, 1 / (1 - decay^step)
    float decay1, rest1, correct1;
    float decay2, rest2, correct2;
} optimiser_rates;

#endif
