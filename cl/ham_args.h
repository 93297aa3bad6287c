/* ham_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef HAM_ARGS_H
#define HAM_ARGS_H

typedef struct ham_args {
    int width;       // d
    int depth;       // levels in all
    int first, last; // this launch has levels first .. last-1
    int queries;     // Nq
    int places;      // places in the buffer: level l has place l % places
    int train;       // 1: top and share are stored, and places = depth
    int self;        // 1: the keys of a level are its queries, not k
    int mode;        // GRAD_* of dq, dk or dc, whichever the kernel has
    int runs;        // runs of rows in each sequence
    int sequences;   // B
    int parts;       // of the pairs of a level and a block of queries, see ham_backward
    float scale;
} ham_args;

#endif
