/* generate.h - greedy decoding and sampling: one translation of each sentence, a token
 * of all sentences at a time. Pieces and gates may be sampled. */
#pragma once

#include "models/transformer.h"

typedef struct generate_options {
    bool draw;       // sample each piece by its probability; else take the likeliest
    bool draw_gates; // sample the gates of a hard layer; else use its inference gates
    int extra;       // pieces beyond the length of the source, at most; end included
    int32_t end;     // the piece that ends a sentence
    uint32_t seed, step; // key of the random draws
} generate_options;

typedef struct generated {
    int64_t sentences;
    int32_t *at;  // [sentences+1] start of each in id
    int32_t *id;  // [at[sentences]] pieces, including the end unless cut at the limit
    float *gates; // [P] pieces by source tokens; NULL without a hard layer
} generated;

/* Translates the sentences of source, none of which is empty. Draws also depend on the
 * index of the sentence plus source->first.
 * Errors: CLA_E_NUMERIC (scores that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_transformer_generate(transformer *m, cla_runtime *rt,
                                    const transformer_tokens *source,
                                    const generate_options *options, generated *out);
void cla_generated_free(generated *g);

/* Makes `rows` sequences of `length` tokens each, owned by the tape. */
cla_status cla_transformer_even_rows(cla_runtime *rt, cla_tape *tape, int64_t rows,
                                     int64_t length, const cla_ragged **out);
