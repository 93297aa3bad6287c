/* generate.h - what a model says by itself: one translation of each sentence, a token
 * of all at a time. Nothing is compared, and pieces and gates may be drawn. */
#pragma once

#include "models/transformer.h"

typedef struct generate_options {
    bool draw;           // each piece by its probability; else the likeliest
    bool draw_gates;     // of a hard layer; else as it opens them where it is used
    int extra;           // at most as many pieces as the source has, and these
    int32_t end;         // the piece that ends a sentence
    uint32_t seed, step; // of the draws
} generate_options;

typedef struct generated {
    int64_t sentences;
    int32_t *at;  // [sentences+1] where each begins
    int32_t *id;  // [at[sentences]] pieces, the end the last where there is one
    float *gates; // [P] of a hard layer, pieces by source tokens; else NULL
} generated;

/* Translations of source, none of which is empty. Draws are keyed by the sentence's
 * place behind source->first too.
 * Errors: CLA_E_NUMERIC (scores that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status transformer_generate(transformer *m, cla_runtime *rt,
                                const transformer_tokens *source,
                                const generate_options *options, generated *out);
void generated_free(generated *g);

/* rows sequences of length tokens each, kept by the tape. */
cla_status transformer_even_rows(cla_runtime *rt, cla_tape *tape, int64_t rows,
                                 int64_t length, const cla_ragged **out);
