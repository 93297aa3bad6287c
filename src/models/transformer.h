/* transformer.h - the Transformer for translation: ids of two languages in, scores of
 * the next piece or a loss out. Vaswani et al. 2017. */
#pragma once

#include "base/config.h"
#include "nn/coder.h"

enum { TRANSFORMER_LAYERS = 16 };

/* Which tables of pieces are one. */
typedef enum transformer_tied {
    TRANSFORMER_SEPARATE,    // source, target and softmax have one each
    TRANSFORMER_TIED_OUTPUT, // the softmax uses the target's
    TRANSFORMER_TIED_ALL,    // one for all: both languages have one vocabulary
} transformer_tied;

/* Whose layers attend to themselves by coder.self; the other stack's attend plainly. */
typedef enum transformer_where {
    TRANSFORMER_ENCODER,
    TRANSFORMER_DECODER,
    TRANSFORMER_BOTH,
} transformer_where;

/* Angles of the signal of positions. */
typedef enum transformer_positions {
    TRANSFORMER_TENSOR2TENSOR, // coder_signal
    TRANSFORMER_MARIAN,        // coder_signal_marian
} transformer_positions;

typedef struct transformer_config {
    int source_pieces, target_pieces; // sizes of the vocabularies, set by the task
    int layers;                       // of the encoder
    int decoder_layers;               // 0: as many
    int tied;                         // transformer_tied
    bool source_vector; // a trained vector is added to each token of the source
    bool unscaled;      // embeddings are not multiplied with the root of D
    bool output_bias;   // a trained bias for each piece that is scored
    bool start_pad;     // piece 0 is in front of a target; else zeros are
    int positions;      // transformer_positions
    double smoothing;
    coder_config coder;
    int first, last; // layers, from 1, that have coder.self and convolutions
    int where;       // transformer_where: stacks that have coder.self
    // coder.hard: the decoder's last layer attends to the memory so
} transformer_config;

/* Sentences as packed ids. Random draws are keyed by the row in the whole batch, of
 * which this is the part from row first on. */
typedef struct transformer_tokens {
    int64_t count;                // N
    const int32_t *id, *position; // [N] piece (-1: start), place in its sentence
    const cla_ragged *rows;
    int64_t first;
} transformer_tokens;

typedef struct transformer_batch {
    transformer_tokens source, input; // input: the target one piece late
    const int32_t *target;            // [input.count]; NULL without loss
    cross_hard_pass *pass;            // of a hard layer; may be NULL
} transformer_batch;

typedef struct transformer {
    transformer_config config;                              // decoder_layers is not 0
    cla_tensor *source_table, *target_table, *output_table; // [V,D]; tied: NULL
    cla_tensor *source_vector;                              // [1,D] or NULL
    cla_tensor *output_bias;                                // [V] or NULL
    coder_layer encoder[TRANSFORMER_LAYERS], decoder[TRANSFORMER_LAYERS];
    coder_norm encoder_norm, decoder_norm; // pre-norm stacks end in one
    cla_tensor *signal;                    // [reach,D] of positions
    int64_t reach;
} transformer;

/* Reads the settings; the key "preset" gives all defaults, those of the optimiser
 * too (vaswani, csan, hard). Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status transformer_configure(transformer_config *config, cla_config *settings);

/* Gives settings what a run of an older version does not say, with the meaning that it
 * had then: without "attention_where", vectors of distances were in both stacks.
 * run  in  settings as the run saved them; may be the same object
 * Errors: CLA_E_NOMEM. */
cla_status transformer_renew(cla_config *settings, const cla_config *run);

/* Adds the parameters. fini frees what is no parameter. Errors: CLA_E_NOMEM. */
cla_status transformer_init(transformer *m, const transformer_config *config,
                            cla_params *params);
void transformer_fini(transformer *m);

/* The encoder's result [Ns,D] for the batch's sources. */
cla_status transformer_encode(transformer *m, cla_tape *tape, cla_tensor **memory,
                              const transformer_batch *batch);

/* logits [Nt,V]: row i has seen the pieces of its sentence before i, and memory. */
cla_status transformer_logits(transformer *m, cla_tape *tape, cla_tensor **logits,
                              cla_tensor *memory, const transformer_batch *batch);

/* What a loss was made of. */
typedef struct transformer_made {
    cla_tensor *memory, *logits;
} transformer_made;

/* Mean cross entropy [1] over the target's pieces, under smoothing; made may be NULL.
 */
cla_status transformer_loss(transformer *m, cla_tape *tape, cla_tensor **loss,
                            const transformer_batch *batch, double smoothing,
                            transformer_made *made);

/* One token more of each of some sequences. */
typedef struct transformer_step {
    int64_t sequences;                      // B
    int32_t position;                       // of the token: 0 for the first
    const int32_t *token;                   // [B] the piece before; -1: start
    const cla_ragged *one, *seen;           // 1 and position + 1 tokens for each
    cla_tensor *kv[TRANSFORMER_LAYERS + 1]; // in: of transformer_remember
    cross_hard_pass *pass;                  // of a hard layer; may be NULL
    const cla_ragged *memory;
    cla_tensor *past[TRANSFORMER_LAYERS]; // in, out: as in coder_input
    /* Where transformer_steps, these may take the places of one, seen, memory and past:
     * as in coder_step_input. */
    cla_tensor *store[TRANSFORMER_LAYERS];
    const cla_tensor *place, *range; // place NULL: they do not
} transformer_step;

/* Whether the decoder's layers can all go by coder_step. */
bool transformer_steps(const transformer *m, const cla_runtime *rt);

/* Keys and values [Ns,..] of each decoder layer for the encoder's result, and behind
 * them the values of a hard layer: transformer_memories tensors. */
int transformer_memories(const transformer *m);
cla_status transformer_remember(transformer *m, cla_tape *tape, cla_tensor **kv,
                                cla_tensor *memory);

/* logits [B,V] of the next piece. */
cla_status transformer_next(transformer *m, cla_tape *tape, cla_tensor **logits,
                            transformer_step *step);
