/* attention_args.h - arguments of kernels, in C and in OpenCL C. */
#ifndef ATTENTION_ARGS_H
#define ATTENTION_ARGS_H

typedef struct attention_args {
    int heads, queries, keys; // H, Nq, Nk
    int q_at, q_stride;
    int k_at, k_stride;
    int v_at, v_stride;
    int causal;
    float scale;                 // 1/sqrt(d)
    float drop;                  // probability of dropping a weight
    unsigned seed, step, stream; // key of the draws, as dropout_keep takes it
    unsigned first_row;          // of these queries in the whole batch
} attention_args;

/* What a pass does with the gradient of an input. */
enum { GRAD_WRITE, GRAD_ADD, GRAD_SKIP };

/* GRAD_* for each of the three inputs. */
typedef struct attention_modes {
    int q, k, v;
} attention_modes;

#endif
