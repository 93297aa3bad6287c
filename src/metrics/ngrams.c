/* ngrams.c - n-grams of references, and the clipped matches of a hypothesis. */
#include "metrics/ngrams.h"

/* The id of the empty n-gram. That of gram[i] is i + 1. */
enum { ROOT = 0 };

struct cla_ngram {
    int32_t reference;  // the last reference that has it
    int32_t here, most; // count in that reference, largest count
    int32_t matched;
};

void cla_ngrams_free(cla_ngrams *g)
{
    cla_pairmap_free(&g->longer);
    free(g->gram);
    *g = (cla_ngrams){ .order = g->order };
}

void cla_ngrams_clear(cla_ngrams *g)
{
    cla_pairmap_clear(&g->longer);
    g->count = 0;
    g->references = 0;
}

/* Counts the n-gram of shorter and token in the current reference; *gram is its id. */
static cla_status count_gram(cla_ngrams *g, int32_t shorter, int32_t token,
                             int32_t *gram)
{
    CLA_TRY(cla_grow(&g->gram, &g->cap, g->count + 1, sizeof *g->gram));
    CLA_TRY(cla_pairmap_put(&g->longer, shorter, token, (int32_t)g->count + 1, gram));
    if ((size_t)*gram == g->count + 1) {
        g->gram[g->count++] = (struct cla_ngram){ 0 };
    }
    struct cla_ngram *at = &g->gram[*gram - 1];
    at->here = at->reference == g->references ? at->here + 1 : 1;
    at->reference = g->references;
    at->most = at->here > at->most ? at->here : at->most;
    return CLA_OK;
}

cla_status cla_ngrams_add_reference(cla_ngrams *g, const int32_t *tokens, size_t n)
{
    g->references++;
    for (size_t i = 0; i < n; i++) {
        int32_t gram = ROOT;
        for (size_t k = 0; k < (size_t)g->order && i + k < n; k++) {
            CLA_TRY(count_gram(g, gram, tokens[i + k], &gram));
        }
    }
    return CLA_OK;
}

void cla_ngrams_start(cla_ngrams *g, cla_ngram_walk *walk)
{
    for (size_t i = 0; i < g->count; i++) {
        g->gram[i].matched = 0;
    }
    for (int k = 0; k < CLA_MAX_ORDER; k++) {
        walk->gram[k] = -1;
    }
}

void cla_ngrams_step(cla_ngrams *g, cla_ngram_walk *walk, int32_t token,
                     int64_t *correct)
{
    for (int k = g->order - 1; k >= 0; k--) {
        const int32_t shorter = k ? walk->gram[k - 1] : ROOT;
        const bool seen = shorter >= 0 && token >= 0;
        const int32_t gram = seen ? cla_pairmap_find(&g->longer, shorter, token) : -1;
        walk->gram[k] = gram;
        if (gram > 0) {
            struct cla_ngram *at = &g->gram[gram - 1];
            correct[k] += at->matched++ < at->most;
        }
    }
}
