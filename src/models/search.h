/* search.h - translations by beam search, a token of all sentences at a time.
 *
 * A hypothesis of t pieces (its end counts) is worth log p / ((5 + t) / 6)^alpha. Each
 * step keeps the best 2 beam continuations; those that end compete with what ended
 * before, the best beam others live on. A sentence is done when nothing that lives can
 * beat the worst of its beam finished hypotheses. A beam of 1 takes the likeliest piece
 * until that is the end. Wu et al. 2016, section 7, as in tensor2tensor. */
#pragma once

#include "models/transformer.h"

typedef struct search_options {
    int beam;     // hypotheses of a sentence, 1 or more
    int best;     // of them are wanted, at most beam; 0: 1
    double alpha; // of the length penalty; 0: none
    int extra;    // at most as many pieces as the source has, and these
    int32_t end;  // the piece that ends a sentence
} search_options;

typedef struct search_result {
    int32_t *id; // [count], without the end; free it. NULL: there is none
    int64_t count;
    double logp, score; // natural; the same under the length penalty. None: -INFINITY
} search_result;

/* The best translations of each sentence of source, none of which is empty.
 *
 * result  out  [sentences*best] best first; zero where it fails. There are fewer where
 *              fewer ended. Where none did the likeliest that lived is the only one
 *
 * Errors: CLA_E_NUMERIC (scores that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status transformer_search(transformer *m, cla_runtime *rt,
                              const transformer_tokens *source,
                              const search_options *options, search_result *result);
