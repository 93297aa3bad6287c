/* bidaf.h - bidirectional attention flow (Seo et al. 2017): as published, and in the
 * form of the baseline published with DuReader (He et al. 2018), which has dot products
 * and a decoder that points; with levels of hierarchical attention where the passage
 * looks at the question. */
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

/* Numbers of the levels of both sites, [depth] each, of which the softmax weighs them;
 * NULL: one. */
typedef struct bidaf_levels {
    cla_tensor *found; // of what words of the passage find in the question
    cla_tensor *about; // of what the passage finds in itself
    look_log *seen;    // as a reader's; set for a match
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

/* What the published network weighs a pair of words with: of the passage's, of the
 * question's, of their product. */
typedef struct bidaf_similarity {
    cla_tensor *own, *other, *both; // [d,1], [1,d], [1,d]
} bidaf_similarity;

/* The published network (bidaf_original.c); h is a direction's width. */
typedef struct bidaf_original {
    cla_tensor *filters, *filter_bias; // [5,char_dim,char_width], [char_width]
    cla_tensor *highway[2][4];         // [in,in], [in], the gate's likewise
    recurrent encoder, model[2], end;  // LSTMs, both directions
    bidaf_similarity similarity;       // of 2h
    bidaf_levels levels;
    cla_tensor *first, *last; // [10h,1]
} bidaf_original;

extern const reader_kind bidaf_kind, bidaf_original_kind;

/* Errors of both: CLA_E_NOMEM. */
cla_status bidaf_add_lstm(cla_params *params, recurrent *layer, int64_t in, int64_t h,
                          const char *name);
cla_status bidaf_add_levels(cla_params *params, bidaf_levels *levels,
                            const reader_config *config);

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

/* The same with s_ij = <own, h_i> + <other, u_j> + <both, h_i * u_j> in the place of M;
 * a level after the first has the one before in the place of h_i. Errors: the same. */
cla_status bidaf_match_by(const bidaf_similarity *w, cla_tape *tape, cla_tensor **out,
                          cla_tensor *passage, cla_tensor *question,
                          const bidaf_levels *levels, const cla_ragged *passage_rows,
                          const cla_ragged *question_rows);

/* Rows of x summed by their scores: out[b] = sum_i softmax_i(score_i + max_j <query_i,
 * key_j>) x_i.
 *
 * out         out  [B,d]
 * x           in   [N,d]
 * score       in   [N,1]
 * query, key  in   [N,a], [Nk,a]; NULL: the score alone, key_rows then has a row each
 *
 * Errors: those of cla_max_attention. */
cla_status bidaf_pool(cla_tape *tape, cla_tensor **out, cla_tensor *x,
                      cla_tensor *score, cla_tensor *query, cla_tensor *key,
                      const cla_ragged *rows, const cla_ragged *key_rows);

/* Each passage's question: u [Nq,d] itself where there is one passage each, else its
 * rows once for each passage of theirs. */
cla_status bidaf_question_of(cla_tape *tape, cla_tensor **out, const cla_ragged **rows,
                             cla_tensor *u, const reader_batch *b);

/* y = a row of x for each token of its sequence; x is [B,d], or one row for all. */
cla_status bidaf_spread(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                        const cla_ragged *rows);

/* Numbers [n] of which the softmax is the same for all. */
cla_status bidaf_equal_parts(cla_tape *tape, cla_tensor **c, int64_t n);
