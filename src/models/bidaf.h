/* bidaf.h - bidirectional attention flow (BiDAF, Seo et al. 2017) with hierarchical
 * attention in levels between passage and question. There are two networks: the
 * published one, and the baseline of DuReader (He et al. 2018), which has dot-product
 * scores and a pointer decoder. */
#pragma once

#include "models/reader.h"
#include "nn/recurrent.h"

/* One of the two pointer networks; n is the width of the states, m of the cell. */
typedef struct bidaf_pointer {
    cla_tensor *passage, *bias; // [n,m], [m]: projection of the states
    cla_tensor *state;          // [m,m]: projection of the cell's state
    cla_tensor *score;          // [m]
    recurrent cell;             // LSTM, [n] to [m]
} bidaf_pointer;

/* Logits [depth] of the level weights, one set for each direction of the attention;
 * NULL: one level. */
typedef struct bidaf_levels {
    cla_tensor *found; // context-to-query attention
    cla_tensor *about; // query-to-context attention
    look_log *seen;    // the reader's log, set for a match
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

/* Weights of the trilinear similarity of the published network: for the passage's word,
 * for the question's word, and for their product. */
typedef struct bidaf_similarity {
    cla_tensor *own, *other, *both; // [d,1], [1,d], [1,d]
} bidaf_similarity;

/* The published network (bidaf_original.c); h is the width of one direction. */
typedef struct bidaf_original {
    cla_tensor *filters, *filter_bias; // [5,char_dim,char_width], [char_width]
    cla_tensor *highway[2][4];         // [in,in], [in]; the same for the gate
    recurrent encoder, model[2], end;  // LSTMs, both directions
    bidaf_similarity similarity;       // d = 2h
    bidaf_levels levels;
    cla_tensor *first, *last; // [10h,1]
} bidaf_original;

extern const reader_kind cla_bidaf_kind, cla_bidaf_original_kind;

/* Add the parameters of a bidirectional LSTM, and of levels. Errors: CLA_E_NOMEM. */
cla_status cla_bidaf_add_lstm(cla_params *params, recurrent *layer, int64_t in,
                              int64_t h, const char *name);
cla_status cla_bidaf_add_levels(cla_params *params, bidaf_levels *levels,
                                const reader_config *config);

/* Matches a passage with its question by attention in both directions.
 *
 *   M = H U^T,  A = softmax over rows of U of M,  B = A U
 *   g = sum_i softmax_i(max_j M_ij) h_i,  G = [H, B, H * B, H * g]
 *
 * With levels, B is the mixture of all levels; each level after the first has the
 * previous level's B in place of H. g is a mixture likewise; each level after the first
 * is sum_i softmax_i(<h_i, g'>) h_i, where g' is the previous level.
 *
 * out       out  [Np,4d]
 * passage   in   [Np,d], H
 * question  in   [Nq,d], U
 *
 * Errors: those of cla_ham_v. */
cla_status cla_bidaf_match(cla_tape *tape, cla_tensor **out, cla_tensor *passage,
                           cla_tensor *question, const bidaf_levels *levels,
                           const cla_ragged *passage_rows,
                           const cla_ragged *question_rows);

/* Matches as cla_bidaf_match, but with the trilinear scores
 *
 *   s_ij = <own, h_i> + <other, u_j> + <both, h_i * u_j>
 *
 * in place of M. Each level of B after the first has the previous level in place of
 * h_i. Errors: those of cla_bidaf_match. */
cla_status cla_bidaf_match_by(const bidaf_similarity *w, cla_tape *tape,
                              cla_tensor **out, cla_tensor *passage,
                              cla_tensor *question, const bidaf_levels *levels,
                              const cla_ragged *passage_rows,
                              const cla_ragged *question_rows);

/* Computes a weighted sum of the rows of x in each sequence:
 *
 *   out[b] = sum_i softmax_i(score_i + max_j <query_i, key_j>) x_i
 *
 * out         out  [B,d]
 * x           in   [N,d]
 * score       in   [N,1]
 * query, key  in   [N,a], [Nk,a]; NULL: the weights are softmax_i(score_i), and
 *                  key_rows has one row a sequence
 *
 * Errors: those of cla_max_attention. */
cla_status cla_bidaf_pool(cla_tape *tape, cla_tensor **out, cla_tensor *x,
                          cla_tensor *score, cla_tensor *query, cla_tensor *key,
                          const cla_ragged *rows, const cla_ragged *key_rows);

/* Gives the question of each passage: u [Nq,d] itself when every question has one
 * passage, else a copy of the question's rows for each of its passages. */
cla_status cla_bidaf_question_of(cla_tape *tape, cla_tensor **out,
                                 const cla_ragged **rows, cla_tensor *u,
                                 const reader_batch *b);

/* Repeats row b of x [B,d] for each token of sequence b. A single row x [1,d] serves
 * all sequences. */
cla_status cla_bidaf_spread(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                            const cla_ragged *rows);

/* Makes logits c [n] of equal weights. */
cla_status cla_bidaf_equal_parts(cla_tape *tape, cla_tensor **c, int64_t n);
