/* ham_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef HAM_ARGS_H
#define HAM_ARGS_H

typedef struct ham_args {
    int width;       // d
    int depth;       // levels in all
    int first, last; // levels first .. last-1 are this launch's
    int queries;     // Nq
    int places;      // that there is room for: level l has place l % places
    int train;       // whether lse is noted, and places are as many as levels
    int self;        // the keys of a level are its queries, not k
    int mode;        // of the gradient at the end of the way: GRAD_*
    int runs;        // of rows, in each sequence
    int sequences;   // B
    float scale;
} ham_args;

#endif
