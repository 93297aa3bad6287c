/* ngrams.h - n-grams of references, and the clipped matches of a hypothesis. */
#pragma once

#include "base/pairmap.h"

enum { CLA_MAX_ORDER = 8 };

/* The n-grams of one sentence's references. {0} is empty; order is the caller's to set.
 */
typedef struct cla_ngrams {
    int order;          // 1 to CLA_MAX_ORDER
    cla_pairmap longer; // the n-gram that an n-gram and its next token make
    struct cla_ngram *gram;
    size_t count, cap;
    int32_t references;
} cla_ngrams;

/* The n-grams that end at the last token of a hypothesis; -1 where no reference has
 * one. */
typedef struct cla_ngram_walk {
    int32_t gram[CLA_MAX_ORDER];
} cla_ngram_walk;

void cla_ngrams_free(cla_ngrams *g);
/* Removes all references and matches but keeps the memory for reuse. */
void cla_ngrams_clear(cla_ngrams *g);

/* Adds the n-grams of a reference. The count of an n-gram is its largest count in any
 * reference. Errors: CLA_E_NOMEM. */
cla_status cla_ngrams_add_reference(cla_ngrams *g, const int32_t *tokens, size_t n);

/* Starts a new hypothesis: resets all matches. */
void cla_ngrams_start(cla_ngrams *g, cla_ngram_walk *walk);

/* Adds the next token of the hypothesis. Increments correct[k] when a reference has the
 * (k+1)-gram that ends here and the hypothesis has matched it fewer times than its
 * count (clipping). A negative token matches nothing. */
void cla_ngrams_step(cla_ngrams *g, cla_ngram_walk *walk, int32_t token,
                     int64_t *correct);
