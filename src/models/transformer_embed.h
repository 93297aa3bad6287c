/* transformer_embed.h - what a stack of the Transformer begins with. */
#pragma once

#include "models/transformer.h"

enum { EMBED_ENCODER, EMBED_DECODER };

/* Computes the embeddings x [N,D] of the tokens of a stack with their positions, and
 * the rotary positions. Errors: CLA_E_INPUT (more tokens than learned positions),
 * CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_transformer_embed(transformer *m, cla_tape *tape, cla_tensor **x,
                                 attn_turn *turn, int stack,
                                 const transformer_tokens *t);

/* Computes what the scores of a stack get by distance, as in attn_rows, from its
 * buckets; NULL without buckets. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_transformer_distances(transformer *m, cla_tape *tape,
                                     cla_tensor **distances, int stack);
