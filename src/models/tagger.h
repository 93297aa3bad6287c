/* tagger.h - the self-attention tagger: from word ids and letters to logits of tags. */
#pragma once

#include "base/config.h"
#include "nn/attn.h"
#include "nn/char_encoder.h"

typedef enum tagger_positions {
    TAGGER_POSITIONS_NONE,
    TAGGER_POSITIONS_ADD,    // learned embeddings, added to those of words
    TAGGER_POSITIONS_CONCAT, // learned embeddings, concatenated with those of words
    TAGGER_POSITIONS_P, // learned scores for pairs of positions, by default in layer 1
    TAGGER_POSITIONS_R, // learned scores for distances, in the same layers
    TAGGER_POSITIONS_P_R, // both
} tagger_positions;

enum { TAGGER_LAYERS = 16 };

typedef struct tagger_config {
    int words, chars, tags; // sizes of the vocabularies, set by the task
    int length;             // t: longest sequence of tables that are tied to positions
    int word_dim, char_dim, char_length, char_layers, position_dim;
    int layers, heads;
    int positions;    // tagger_positions
    bool train_words; // false: word embeddings are not trained
    double dropout;
    attn_config attn;
    int first, last; // layers, from 1, with attn; the others: softmax attention
} tagger_config;

/* A packed batch as ids. */
typedef struct tagger_batch {
    int64_t tokens;          // N
    int64_t spellings;       // U: distinct words
    const int32_t *word;     // [N]
    const int32_t *position; // [N] place in the sentence
    const int32_t *spelling; // [N] row of letters
    const int32_t *letters;  // [U*char_length]
    const int32_t *tag;      // [N], -1: not counted; NULL without a loss
    const cla_ragged *rows;
} tagger_batch;

typedef struct tagger {
    tagger_config config;
    int width; // D
    char_encoder encoder;
    cla_tensor *word_table, *position_table; // position_table may be NULL
    attn_layer layer[TAGGER_LAYERS];
    cla_tensor *out, *out_bias; // [2D,tags], [tags]
} tagger;

/* Returns whether parameters are tied to positions, so that sequences have at most t
 * tokens. */
bool cla_tagger_tied(const tagger_config *config);

/* Adds to settings the keys that a run of an older version lacks, with the meaning that
 * their absence had then.
 * run  in  settings as the run saved them; may be the same object
 * Errors: CLA_E_NOMEM. */
cla_status cla_tagger_renew(cla_config *settings, const cla_config *run);

/* Read the settings (defaults: those of the paper) and add the parameters.
 * Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status cla_tagger_configure(tagger_config *config, cla_config *settings);
cla_status cla_tagger_init(tagger *model, const tagger_config *config,
                           cla_params *params);

/* Computes logits [N,tags]. map (may be NULL) is an array that receives the attention
 * map of each layer. */
cla_status cla_tagger_logits(tagger *model, cla_tape *tape, cla_tensor **logits,
                             const tagger_batch *batch, cla_tensor **map);

/* Computes the mean cross entropy over the counted tokens, [1]. */
cla_status cla_tagger_loss(tagger *model, cla_tape *tape, cla_tensor **loss,
                           const tagger_batch *batch);
