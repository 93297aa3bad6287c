/* search.h - translations by beam search, a token of all sentences at a time.
 *
 * A hypothesis of t pieces (its end counts) is worth log p / ((5 + t) / 6)^alpha. Each
 * step keeps the best 2 beam continuations; those that end compete with what ended
 * before, the best beam others live on. A sentence is done when nothing that lives can
 * beat the worst of the results that are wanted. A beam of 1 takes the likeliest piece
 * until that is the end. Wu et al. 2016, section 7, as in tensor2tensor.
 *
 * SEARCH_TRANSFORMERS does as transformers of Hugging Face. A hypothesis of t pieces
 * (its end counts) is worth log p / t^alpha. A continuation that ends counts only among
 * the best beam. A sentence is done when its beam finished hypotheses are as good as
 * the best continuation is by now, or as early says. Hypotheses that live at the last
 * piece compete with those that finished. */
#pragma once

#include "models/transformer.h"

typedef enum search_kind { SEARCH_TENSOR2TENSOR, SEARCH_TRANSFORMERS } search_kind;

/* When SEARCH_TRANSFORMERS stops, with beam finished hypotheses. */
typedef enum search_early {
    SEARCH_ESTIMATE, // none that lives is better at its present length
    SEARCH_FIRST,    // at once
    SEARCH_NEVER,    // none that lives can become better
} search_early;

typedef struct search_options {
    int beam;       // hypotheses of a sentence, 1 or more
    int best;       // of them are wanted, at most beam; 0: 1
    double alpha;   // of the length penalty; 0: none
    int extra;      // at most as many pieces as the source has, and these
    int32_t end;    // the piece that ends a sentence
    int kind;       // search_kind
    int early;      // search_early
    int most;       // pieces of a translation, its end included; 0: size and extra
    bool never_pad; // piece 0 is not taken, though it has its share of probability
    bool forced;    // the last of them is the end, and costs nothing
} search_options;

/* What a hypothesis of length pieces, its end included, is worth. */
double search_worth(const search_options *o, double logp, int64_t length);

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
