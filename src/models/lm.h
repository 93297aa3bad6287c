/* lm.h - a causal language model: a stack of Transformer layers that reads a text and
 * gives logits of its next piece. Radford et al. 2019; Touvron et al. 2023. */
#pragma once

#include "base/config.h"
#include "nn/coder.h"

enum { LM_LAYERS = 64 };

typedef struct lm_config {
    int pieces;  // V, set by the task
    int layers;  //
    int context; // T: pieces that are read together, at most
    bool tied;   // the output layer uses the table of embeddings
    coder_config coder;
    int first, last; // layers, from 1, with coder.self
} lm_config;

/* Packed sequences. Random draws are keyed by a token's row in the whole batch, of
 * which these tokens are the rows from `first`. */
typedef struct lm_tokens {
    int64_t count;                // N
    const int32_t *id, *position; // [N]
    const cla_ragged *rows;
    int64_t first;
} lm_tokens;

typedef struct lm {
    lm_config config;
    cla_tensor *table, *output; // [V,D]; output NULL: tied
    cla_tensor *places;         // [T,D] learned positions, or NULL
    coder_layer layer[LM_LAYERS];
    coder_norm norm;     // at the end
    cla_tensor *signal;  // [T,D] position encodings; made when needed
    coder_angles angles; // of rotary positions
} lm;

/* Reads the settings. The key "preset" (gpt2, llama) sets defaults of other keys, also
 * those of the optimiser. Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status cla_lm_configure(lm_config *config, cla_config *settings);

/* Adds the parameters. cla_lm_fini frees everything else. Errors: CLA_E_NOMEM. */
cla_status cla_lm_init(lm *m, const lm_config *config, cla_params *params);
void cla_lm_fini(lm *m);

/* Computes logits [N,V] of the piece after each token, which depend on it and on the
 * tokens of its sequence before it. */
cla_status cla_lm_logits(lm *m, cla_tape *tape, cla_tensor **logits,
                         const lm_tokens *tokens);

/* Computes the same, and the attention weights of each layer, maps [layers], as
 * cla_attn_self. Errors: CLA_E_INPUT (a layer that has no map). */
cla_status cla_lm_maps(lm *m, cla_tape *tape, cla_tensor **logits,
                       const lm_tokens *tokens, cla_tensor **maps);

/* Computes the mean cross entropy [1] of target [N]. */
cla_status cla_lm_loss(lm *m, cla_tape *tape, cla_tensor **loss,
                       const lm_tokens *tokens, const int32_t *target);

/* What a text so far is to the layers. */
typedef struct lm_past {
    int64_t count;              // tokens
    cla_tensor *qkv[LM_LAYERS]; // [1,count*3D] on the tape of the last call
} lm_past;

/* Computes logits [1,V] of the piece after n more tokens id of one text, whose earlier
 * tokens are in past. past and the new tokens are at most T. Only the first
 * call may have more than one token. The next call needs another tape. Not for
 * training. */
cla_status cla_lm_next(lm *m, cla_tape *tape, cla_tensor **logits, lm_past *past,
                       const int32_t *id, int64_t n);
