/* search.h - translation by beam search, a token of all sentences at a time.
 *
 * A hypothesis of t pieces, its end included, has the score
 * log p / ((5 + t) / 6)^alpha. Each step keeps the best 2 beam continuations. Those
 * that end compete with the finished hypotheses; the best `beam` of the others live on.
 * A sentence is done when no live hypothesis can beat the worst of the wanted results.
 * A beam of 1 is greedy decoding. Source: Wu et al. 2016, section 7, as in
 * tensor2tensor.
 *
 * SEARCH_TRANSFORMERS differs as transformers of Hugging Face does. The score of a
 * hypothesis is log p / t^alpha. A continuation that ends counts only among the best
 * `beam`. search_early is the stopping rule. Hypotheses that are live at the last piece
 * compete with the finished ones.
 *
 * SEARCH_TRANSFORMERS_5 is the search of its releases from 4.50 on. The stopping rule
 * looks at the best hypothesis that lives on, not at one that has just ended; at the
 * last piece all compete at once, before it is asked. */
#pragma once

#include "models/transformer.h"

typedef enum search_kind {
    SEARCH_TENSOR2TENSOR,
    SEARCH_TRANSFORMERS,
    SEARCH_TRANSFORMERS_5,
} search_kind;

/* When SEARCH_TRANSFORMERS is done with a sentence. With alpha 0 scores do not depend
 * on the length, and SEARCH_ESTIMATE acts as SEARCH_NEVER. */
typedef enum search_early {
    SEARCH_ESTIMATE, // SEARCH_FIRST, and each is as good as any continuation is now
    SEARCH_FIRST,    // `beam` hypotheses have finished
    SEARCH_NEVER,    // no continuation can enter the wanted results
} search_early;

typedef struct search_options {
    int beam;       // hypotheses of a sentence, 1 or more
    int best;       // wanted results of a sentence, at most beam; 0: 1
    double alpha;   // of the length penalty; 0: none
    int extra;      // pieces beyond the length of the source, at most; end included
    int32_t end;    // the piece that ends a sentence
    int32_t first;  // the piece that each translation begins with, at no cost; 0: any
    int kind;       // search_kind
    int early;      // search_early
    int most;       // limit of pieces, end included; 0: the source's plus extra
    bool never_pad; // never choose piece 0, which keeps its share of probability
    bool forced;    // at the limit the last piece is the end, at no cost
} search_options;

/* Returns the score of a hypothesis of length pieces, its end included. */
double cla_search_worth(const search_options *o, double logp, int64_t length);

typedef struct search_result {
    int32_t *id; // [count], without the end; free it. NULL: no result
    int64_t count;
    double logp, score; // log p, length-penalised log p; -INFINITY: no result
    bool cut;           // it reached the limit of pieces before its own end
} search_result;

/* Finds the best translations of each sentence of source, none of which is empty.
 *
 * result  out  [sentences*best], best first; zeros on failure. Places without a
 *              finished hypothesis have no result. If none finished,
 *              SEARCH_TENSOR2TENSOR gives the likeliest live hypothesis
 *
 * Errors: CLA_E_NUMERIC (scores that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_transformer_search(transformer *m, cla_runtime *rt,
                                  const transformer_tokens *source,
                                  const search_options *options, search_result *result);
