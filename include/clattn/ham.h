/* ham.h - attention in levels: each level asks the memory again, with what the one
 * before found (tier 2). */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most levels there can be. */
enum { CLA_HAM_DEPTH = 256 };

/* What a level of cla_ham_s attends to. */
typedef enum cla_ham_memory {
    CLA_HAM_CURRENT,  // the level before, as its queries
    CLA_HAM_ORIGINAL, // x
} cla_ham_memory;

/* {0} is scaled dot products, and the current level as memory. */
typedef struct cla_ham_options {
    float scale;           // of dot products; 0 means 1/sqrt(d)
    cla_ham_memory memory; // of cla_ham_s
} cla_ham_options;

/* Hierarchical attention of queries on a memory.
 *
 *   q_0 = q,  q_l[i] = sum_j a_l[i,j] k[j],  a_l = softmax_j scale <q_(l-1)[i], k[j]>
 *   out = sum over l = 1 .. depth of w_l q_l,  w = softmax(c)
 *
 * out      out  [Nq,d] f32; 0 for a query without a key
 * q        in   [Nq,d] f32
 * k        in   [Nk,d] f32, keys and values in one
 * c        in   [depth] f32, one number a level, of which the softmax is taken
 * q_rows   in   Nq tokens in B sequences
 * k_rows   in   Nk tokens in B sequences: a query attends to its own
 * options  in   NULL for {0}
 *
 * A level with c of -1e30 has no part in the result or in a gradient. The cost is
 * linear in depth; what is kept for the way back is depth (d + 1) numbers a query.
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

/* What levels come to that somebody else makes, as where a reader's level is a score of
 * its own: out = sum_l w_l x_l, w = softmax(c).
 *
 * out  out  as x[0]; with a depth of 1 its very bits
 * x    in   [depth] tensors f32 of one shape; not needed after the call
 * c    in   [depth] f32
 *
 * Errors: CLA_E_SHAPE (also as cla_ham_v), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: as cla_ham_v. */
CLA_API cla_status cla_mix_levels(cla_tape *tape, cla_tensor **out,
                                  cla_tensor *const *x, cla_tensor *c);

#ifdef __cplusplus
}
#endif
