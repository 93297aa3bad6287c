/* conv_attention_2d_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef CONV_ATTENTION_2D_ARGS_H
#define CONV_ATTENTION_2D_ARGS_H

/* Members ..._at are offsets into a slab, the scratch of one worker, in floats. */
typedef struct conv_args {
    int items, workers;     // items = B*H*chunks; worker n does n, n + workers, ...
    int chunks, chunk_rows; // items of one map, and the rows of each
    int kh, kw, activation;
    int rows, ring; // rows of a step; of a ring (a power of two, rows + kh - 1 or more)
    int edge;       // columns of zeros on both sides of a ring, kw/2 or more
    int slab;
    int keys_at, values_at, key_rows_at;
    int map_at, slopes_at, strip_at;
    int queries_at, flow_at;
    int key_sums_at, value_sums_at, filter_sums_at;
    int filter_at, turned_at;
    int q_mode, k_mode, v_mode; // GRAD_* of dq, dk, dv
    int part;                   // floats from one chunk's dk and dv to the next
} conv_args;

#endif
