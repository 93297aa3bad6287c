/* poet.h - the poem generator: a keyword and the lines before in, a line out. */
#pragma once

#include "base/config.h"
#include "models/look.h"
#include "nn/recurrent.h"

enum { POET_LONGEST = 32, POET_MAX_BEAM = 256 };

/* Where it looks in levels: at its memory. */
#define POET_SITE "memory"

typedef struct poet_config {
    int characters; // V, set by the task
    int dim;        // of embeddings
    int hidden;     // h: states of the decoder, and of each direction of the encoders
    int depth;      // levels of attention
    int score;      // 0 dot, 1 additive
    double first_level; // weight that the first level begins with; 0: as the others
    double dropout;     // of what the read-out sees
} poet_config;

/* Lines of one length. Keywords and contexts are packed; line 1 of a poem has an empty
 * context. */
typedef struct poet_batch {
    int64_t lines;             // B
    int length;                // L: characters of a line, 1 to POET_LONGEST
    const int32_t *keyword;    // [keyword_at[B]]
    const int32_t *keyword_at; // [B+1]
    const int32_t *context;    // [context_at[B]] the lines before, one after the other
    const int32_t *context_at; // [B+1]
    const int32_t *line;       // [B*L]; NULL where it is to be written
} poet_batch;

typedef struct poet {
    poet_config config;
    cla_tensor *table;                              // [V,dim]
    recurrent keyword, context;                     // GRUs, both directions
    recurrent decoder;                              // a GRU of [dim+2h]
    cla_tensor *start, *start_bias;                 // [2h,h], [h]: s_0
    cla_tensor *query;                              // [h,2h]
    cla_tensor *levels;                             // [depth]
    cla_tensor *match_memory, *match_query, *match; // additive: [2h,h] twice, [h]
    cla_tensor *out, *out_bias;                     // [3h+dim,V], [V]
    look_log *seen; // of the one line of a batch, at POET_SITE; or NULL
} poet;

/* Reads "hidden", "dim", "depth", "first_level", "score" and "dropout".
 * Errors: CLA_E_INPUT. */
cla_status poet_configure(poet_config *config, cla_config *settings);
cla_status poet_init(poet *m, const poet_config *config, cla_params *params);

/* What a decoder looks at: for each line r_c and then h_1 .. h_T. */
typedef struct poet_memory {
    cla_tensor *value;     // [M,2h]
    cla_tensor *projected; // [M,h] of score additive
    cla_ragged *rows;      // M in B
    cla_tensor *state;     // [B,h] s_0
} poet_memory;

/* Reads keywords and contexts. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status poet_read(poet *m, cla_tape *tape, poet_memory *memory,
                     const poet_batch *batch);

/* A step of the decoder from state [R,h], each line in R / B hypotheses:
 *
 *   ctx = levels of attention of state W_q on the line's memory
 *   s = GRU([input, ctx], state), features = dropout([s, ctx, input])
 *
 * state     in, out  [R,h]
 * features  out      [R,3h+dim] what the read-out sees
 * context   out      [R,2h] ctx; may be NULL
 * input     in       [R,dim] embeddings of the characters before */
typedef struct poet_step {
    const cla_ragged *hypotheses; // R in B
    const cla_ragged *ones;       // R in R
    cla_tensor *state, *features, *context;
} poet_step;
cla_status poet_next(poet *m, cla_tape *tape, poet_step *step,
                     const poet_memory *memory, cla_tensor *input);

/* n sequences of each tokens, kept by the tape. */
cla_status poet_even_rows(cla_tape *tape, int64_t n, int64_t each,
                          const cla_ragged **rows);

/* The mean cross entropy of the characters of the batch's lines, [1]. */
cla_status poet_loss(poet *m, cla_tape *tape, cla_tensor **loss,
                     const poet_batch *batch);

/* Writes the lines of a batch by beam search; of a beam of 1 each character is the
 * likeliest. Characters below from are never written. Of equal hypotheses the earlier
 * one.
 *
 * line  out  [B*L]
 * logp  out  [B] their probabilities, natural logarithms; may be NULL
 *
 * Errors: CLA_E_NUMERIC (scores that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status poet_write(poet *m, cla_runtime *rt, const poet_batch *batch, int beam,
                      int32_t from, int32_t *line, double *logp);
