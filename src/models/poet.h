/* poet.h - the poem generator: writes a line from a keyword and the previous lines. */
#pragma once

#include "base/config.h"
#include "models/look.h"
#include "nn/recurrent.h"

enum { POET_LONGEST = 32, POET_MAX_BEAM = 256 };

/* The site of its attention in the log (models/look.h). */
#define POET_SITE "memory"

typedef struct poet_config {
    int characters; // V, set by the task
    int dim;        // of embeddings
    int hidden;     // h: width of the decoder, and of each direction of the encoders
    int depth;      // levels of attention
    int score;      // 0 dot, 1 additive
    double first_level; // initial weight of the first level; 0: that of the others
    double dropout;     // of the features before the output layer
} poet_config;

/* A batch of lines of one length. Keywords and contexts are packed; line 1 of a poem
 * has an empty context. */
typedef struct poet_batch {
    int64_t lines;             // B
    int length;                // L: characters of a line, 1 to POET_LONGEST
    const int32_t *keyword;    // [keyword_at[B]]
    const int32_t *keyword_at; // [B+1]
    const int32_t *context;    // [context_at[B]] the previous lines, concatenated
    const int32_t *context_at; // [B+1]
    const int32_t *line;       // [B*L]; may be NULL for cla_poet_write
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
    look_log *seen; // log of a batch of one line, at POET_SITE; or NULL
} poet;

/* Reads the settings "hidden", "dim", "depth", "first_level", "score" and "dropout".
 * Errors: CLA_E_INPUT. */
cla_status cla_poet_configure(poet_config *config, cla_config *settings);
cla_status cla_poet_init(poet *m, const poet_config *config, cla_params *params);

/* The memory that the decoder attends to: for each line r_c, then h_1 .. h_T. */
typedef struct poet_memory {
    cla_tensor *value;     // [M,2h]
    cla_tensor *projected; // [M,h] keys for the additive score
    cla_ragged *rows;      // M rows in B sequences
    cla_tensor *state;     // [B,h] s_0 of the decoder
} poet_memory;

/* Encodes keywords and contexts. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_poet_read(poet *m, cla_tape *tape, poet_memory *memory,
                         const poet_batch *batch);

/* A step of the decoder for R hypotheses, R / B of each line:
 *
 *   ctx = hierarchical attention of state W_q to the memory of the line
 *   s = GRU([input, ctx], state), features = dropout([s, ctx, input])
 *
 * state     in, out  [R,h]
 * features  out      [R,3h+dim] input of the output layer
 * context   out      [R,2h] ctx
 * input     in       [R,dim] embeddings of the previous characters */
typedef struct poet_step {
    const cla_ragged *hypotheses; // R rows in B sequences
    const cla_ragged *ones;       // R rows in R sequences
    cla_tensor *state, *features, *context;
} poet_step;
cla_status cla_poet_next(poet *m, cla_tape *tape, poet_step *step,
                         const poet_memory *memory, cla_tensor *input);

/* Makes n sequences of `each` tokens, owned by the tape. */
cla_status cla_poet_even_rows(cla_tape *tape, int64_t n, int64_t each,
                              const cla_ragged **rows);

/* Computes the mean cross entropy over the characters of the batch's lines, [1]. */
cla_status cla_poet_loss(poet *m, cla_tape *tape, cla_tensor **loss,
                         const poet_batch *batch);

/* Writes the lines of a batch by beam search; a beam of 1 is greedy decoding. Never
 * writes characters with an id below `from`. Ties go to the earlier hypothesis.
 *
 * line  out  [B*L]
 * logp  out  [B] log probability of each line (natural); may be NULL
 *
 * Errors: CLA_E_NUMERIC (scores that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_poet_write(poet *m, cla_runtime *rt, const poet_batch *batch, int beam,
                          int32_t from, int32_t *line, double *logp);
