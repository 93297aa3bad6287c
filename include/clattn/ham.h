/* ham.h - hierarchical attention: each level queries the memory with the result of the
 * level before. Also the attention and the loss of reading models (tier 2). */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest depth. */
enum { CLA_HAM_DEPTH = 256 };

/* What a level of cla_ham_s attends to. */
typedef enum cla_ham_memory {
    CLA_HAM_CURRENT,  // x_(l-1), the result of the level before
    CLA_HAM_ORIGINAL, // x, the input
} cla_ham_memory;

/* {0}: scale 1/sqrt(d), and the current level as memory. */
typedef struct cla_ham_options {
    float scale;           // of dot products; 0 means 1/sqrt(d)
    cla_ham_memory memory; // of cla_ham_s
    uint64_t reserved[4];  // 0: room for later versions
} cla_ham_options;

/* Hierarchical attention of queries on a memory.
 *
 *   q_0 = q,  q_l[i] = sum_j a_l[i,j] k[j],  a_l = softmax_j scale <q_(l-1)[i], k[j]>
 *   out = sum over l = 1 .. depth of w_l q_l,  w = softmax(c)
 *
 * out      out  [Nq,d] f32; 0 for a query without a key
 * q        in   [Nq,d] f32
 * k        in   [Nk,d] f32, both keys and values
 * c        in   [depth] f32, a score for each level
 * q_rows   in   Nq tokens in B sequences
 * k_rows   in   Nk tokens in B sequences: a query attends to its own
 * options  in   NULL for {0}
 *
 * A level whose c is -1e30 has weight 0, and no gradient. Time is linear in depth; the
 * backward pass needs depth (d + 1) numbers for each query.
 *
 * Errors: CLA_E_SHAPE (also a depth of 0 or above CLA_HAM_DEPTH), CLA_E_USAGE (no
 * rows), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: hierarchical attention networks for reading and poems, Ham-V. */
CLA_API cla_status cla_ham_v(cla_tape *tape, cla_tensor **out, cla_tensor *q,
                             cla_tensor *k, cla_tensor *c, const cla_ragged *q_rows,
                             const cla_ragged *k_rows, const cla_ham_options *options);

/* Hierarchical attention of a sequence on itself.
 *
 *   x_0 = x,  x_l = softmax(scale x_(l-1) m^T) m,  out = sum_l w_l x_l,  w = softmax(c)
 *
 * where m is x_(l-1), or x as options say; rows attend inside their sequence.
 *
 * out      out  [N,d] f32
 * x        in   [N,d] f32
 * c        in   [depth] f32
 * rows     in   N tokens in B sequences
 * options  in   NULL for {0}
 *
 * Errors: as cla_ham_v.
 * Source: as cla_ham_v, Ham-S. */
CLA_API cla_status cla_ham_s(cla_tape *tape, cla_tensor **out, cla_tensor *x,
                             cla_tensor *c, const cla_ragged *rows,
                             const cla_ham_options *options);

/* The mean of levels by learned weights: out = sum_l w_l x_l, w = softmax(c). For
 * levels that are not made by cla_ham_v or cla_ham_s, such as the LSTM states of a
 * reader.
 *
 * out  out  as x[0]; with a depth of 1 the same bits
 * x    in   [depth] tensors f32 of one shape; not needed after the call
 * c    in   [depth] f32
 *
 * Errors: CLA_E_SHAPE (also as cla_ham_v), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: as cla_ham_v. */
CLA_API cla_status cla_mix_levels(cla_tape *tape, cla_tensor **out,
                                  cla_tensor *const *x, cla_tensor *c);

/* Further results; each may be NULL. Maps are packed: the T x S numbers of sequence b,
 * queries by keys, follow those of sequence b - 1. P counts all of them. */
typedef struct cla_additive_options {
    cla_tensor **weights; // out [P] f32, a distribution over each query's keys
    cla_tensor **scores;  // out [P] f32, s, of which weights are the softmax
    uint64_t reserved[4]; // 0: room for later versions
} cla_additive_options;

/* Additive attention of queries on the keys of their own sequence.
 *
 *   s[i,j] = sum_c v[c] tanh(m[j,c] + q[i,c]),  w = softmax_j(s) over i's own sequence
 *   context[i] = sum_j w[i,j] values[j]
 *
 * context  out  [Nq,d] f32; 0 for a query without a key
 * m        in   [Nk,a] f32, projected keys (cla_linear); a decoder projects them once
 * q        in   [Nq,a] f32, projected queries, with the bias if there is one
 * v        in   [a] f32
 * values   in   [Nk,d] f32
 * q_rows   in   Nq tokens in B sequences, often one each
 * k_rows   in   Nk tokens in B sequences
 * options  in   NULL for {0}
 *
 * Gradients of context, weights and scores are added: the loss of a pointer network is
 * a function of weights or of scores. One launch forward, three backward.
 *
 * Errors: CLA_E_SHAPE (also 2^31 pairs or more), CLA_E_USAGE (no rows), CLA_E_NOMEM,
 * CLA_E_DEVICE.
 * Source: Bahdanau et al. 2015; Wang and Jiang 2017 (Match-LSTM, pointers). */
CLA_API cla_status cla_additive_attention(cla_tape *tape, cla_tensor **context,
                                          cla_tensor *m, cla_tensor *q, cla_tensor *v,
                                          cla_tensor *values, const cla_ragged *q_rows,
                                          const cla_ragged *k_rows,
                                          const cla_additive_options *options);

/* Query-to-context attention: weights each row of a sequence by its best match among
 * the rows of a memory, and sums them.
 *
 *   w = softmax over i of max_j <q[i], k[j]>,  out[b] = sum_i w[i] q[i]
 *
 * with i and j in sequence b. The maximum's gradient goes to the first of equal keys.
 *
 * out     out  [B,d] f32; 0 for a sequence without rows or without keys
 * q       in   [Nq,d] f32
 * k       in   [Nk,d] f32
 * q_rows  in   Nq tokens in B sequences
 * k_rows  in   Nk tokens in B sequences
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (no rows), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Seo et al. 2017 (BiDAF), attention from query to context. */
CLA_API cla_status cla_max_attention(cla_tape *tape, cla_tensor **out, cla_tensor *q,
                                     cla_tensor *k, const cla_ragged *q_rows,
                                     const cla_ragged *k_rows);

/* {0}: x are scores. */
typedef struct cla_pointer_options {
    bool probabilities; // x are probabilities, such as a mean of distributions
    float least;        // added to a probability before its logarithm, 0 or more
    cla_tensor **logp;  // out [N] f32, logarithms of probabilities; without a gradient
    uint64_t reserved[4]; // 0: room for later versions
} cla_pointer_options;

/* The loss of pointing at one row of each sequence, in nats.
 *
 *   loss = mean over b of -ln softmax(x_b)[targets[b]], or of -ln(x_b[targets[b]] +
 *   least) with probabilities
 *
 * x_b are the numbers of sequence b. The mean is over the sequences whose target is one
 * of their rows; without any the loss is 0.
 *
 * loss     out  [1] f32
 * x        in   [N] f32, such as scores of cla_additive_attention for a query each
 * targets  in   [B] i32, a row of its sequence, counted from 0; -1: not counted
 * rows     in   N numbers in B sequences
 * options  in   NULL for {0}
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (no rows; least below 0), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Wang and Jiang 2017, the boundary model's loss. */
CLA_API cla_status cla_ragged_cross_entropy(cla_tape *tape, cla_tensor **loss,
                                            cla_tensor *x, const cla_tensor *targets,
                                            const cla_ragged *rows,
                                            const cla_pointer_options *options);

#ifdef __cplusplus
}
#endif
