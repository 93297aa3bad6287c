/* ngrams.h - n-grams of references, and the clipped matches of a hypothesis. */
#pragma once

#include "base/pairmap.h"

enum { CLA_MAX_ORDER = 8 };

/* The n-grams of one sentence's references. Zero-initialised but for order it is
 * empty. */
typedef struct cla_ngrams {
    int order;          // 1 to CLA_MAX_ORDER
    cla_pairmap longer; // an n-gram and a token: the n-gram with it at the end
    struct cla_ngram *gram;
    size_t count, cap;
    int32_t references;
} cla_ngrams;

/* The n-grams that end at a hypothesis's last token, -1 where no reference has them. */
typedef struct cla_ngram_walk {
    int32_t gram[CLA_MAX_ORDER];
} cla_ngram_walk;

void cla_ngrams_free(cla_ngrams *g);
/* Forgets references and matches; keeps the memory. */
void cla_ngrams_clear(cla_ngrams *g);

/* Of several references each n-gram counts as often as where it is most frequent.
 * Errors: CLA_E_NOMEM. */
cla_status cla_ngrams_add_reference(cla_ngrams *g, const int32_t *tokens, size_t n);

/* Starts a hypothesis. */
void cla_ngrams_start(cla_ngrams *g, cla_ngram_walk *walk);

/* Takes its next token; adds to correct[k] when the (k+1)-gram that ends here is
 * matched and was not yet matched as often as the references have it. A negative token
 * matches nothing. */
void cla_ngrams_step(cla_ngrams *g, cla_ngram_walk *walk, int32_t token,
                     int64_t *correct);
