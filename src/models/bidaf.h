/* bidaf.h - bidirectional attention flow (Seo et al. 2017) in the form of the baseline
 * published with DuReader (He et al. 2018): dot products, and a decoder that points;
 * with levels of hierarchical attention where the passage looks at the question. */
#pragma once

#include "models/reader.h"
#include "nn/recurrent.h"

/* One of the two pointers: n of states, m of the cell. */
typedef struct bidaf_pointer {
    cla_tensor *passage, *bias; // [n,m], [m]: what states say
    cla_tensor *state;          // [m,m]: what the cell says
    cla_tensor *score;          // [m]
    recurrent cell;             // LSTM, [n] to [m]
} bidaf_pointer;

/* Numbers of levels, [depth] each, of which the softmax weighs them; NULL: one. */
typedef struct bidaf_levels {
    cla_tensor *found; // of what words of the passage find in the question
    cla_tensor *about; // of what the passage finds in itself
} bidaf_levels;

typedef struct bidaf {
    reader *reader;
    recurrent question, passage, fuse; // LSTMs, both directions
    bidaf_levels levels;
    cla_tensor *pool_question, *pool_own, *pool_bias; // [2h,h], [h,h], [h]
    cla_tensor *pool_vector, *pool_score;             // [1,h], [h]
    cla_tensor *begin, *begin_bias;                   // [2h,h], [h]
    bidaf_pointer pointer[2];                         // forward, backward
} bidaf;

extern const reader_kind bidaf_kind;

/* A passage beside what it finds in its question, and the reverse.
 *
 *   M = H U^T,  A = softmax over rows of U of M,  B = A U
 *   g = sum_i softmax_i(max_j M_ij) h_i,  G = [H, B, H * B, H * g]
 *
 * With levels B is their mixture, each with the one before in the place of H; and so is
 * g, of which the level after this one is sum_i softmax_i(<h_i, g>) h_i.
 *
 * out       out  [Np,4d]
 * passage   in   [Np,d], H
 * question  in   [Nq,d], U
 *
 * Errors: those of cla_ham_v. */
cla_status bidaf_match(cla_tape *tape, cla_tensor **out, cla_tensor *passage,
                       cla_tensor *question, const bidaf_levels *levels,
                       const cla_ragged *passage_rows, const cla_ragged *question_rows);

/* Each passage's question: u [Nq,d] itself where there is one passage each, else its
 * rows once for each passage of theirs. */
cla_status bidaf_question_of(cla_tape *tape, cla_tensor **out, const cla_ragged **rows,
                             cla_tensor *u, const reader_batch *b);

/* y = a row of x for each token of its sequence; x is [B,d], or one row for all. */
cla_status bidaf_spread(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                        const cla_ragged *rows);

/* Numbers [n] of which the softmax is the same for all. */
cla_status bidaf_equal_parts(cla_tape *tape, cla_tensor **c, int64_t n);
