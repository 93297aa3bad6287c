/* textrank.h - which words matter: TextRank over words that share lines. */
#pragma once

#include "base/pairmap.h"
#include "text/lexicon.h"

/* Words in the order of their scores, the highest first: a word's number is its rank,
 * from 0. */
typedef struct cla_ranking {
    cla_vocab words;
    double *score; // [words.count]
} cla_ranking;

void cla_ranking_free(cla_ranking *r);

/* A word, a tab and its score a line. Errors: CLA_E_IO, CLA_E_INPUT with path:line (no
 * text, not a word and a number, a higher score than the line before, a word twice; no
 * word), CLA_E_NOMEM. */
cla_status cla_ranking_save(const cla_ranking *r, const char *path);
cla_status cla_ranking_load(cla_ranking *r, const char *path);

/* Words that stand together, zero-initialised empty. */
typedef struct cla_textrank {
    cla_vocab words;
    struct cla_textrank_edge *edge;
    size_t edge_count, edge_cap;
    cla_pairmap index; // of a pair's edge
} cla_textrank;

void cla_textrank_free(cla_textrank *t);

/* Adds weight to the edge between two words, which are added when new; none between a
 * word and itself. Errors: CLA_E_USAGE (weight not above 0), CLA_E_NOMEM. */
cla_status cla_textrank_join(cla_textrank *t, const char *a, const char *b,
                             double weight);

/* Joins all words of a line with one another, each pair of places by 1. The words are
 * those of lexicon but for those of stop, which may be NULL. Errors: CLA_E_NOMEM. */
cla_status cla_textrank_add(cla_textrank *t, const cla_lexicon *lexicon,
                            const cla_lexicon *stop, const char *line, size_t size);

/* S(i) = (1 - d) + d sum_j w_ji / (sum_k w_jk) S(j), d = 0.85, from S = 1 until no
 * score changes by more than 1e-9. The scores of words that are joined with others sum
 * to their number; a word that is not has 0.15. Equal scores keep the order of
 * addition. Errors: CLA_E_INPUT (no word), CLA_E_NOMEM. Source: Mihalcea and Tarau
 * 2004. */
cla_status cla_textrank_rank(const cla_textrank *t, cla_ranking *r);

/* The word of line with the best rank that is no stop word; where there is none, the
 * first that is no stop word, or the first. Not *found: a line without words.
 * Errors: as cla_lexicon_cut. */
cla_status cla_ranking_keyword(const cla_ranking *r, const cla_lexicon *lexicon,
                               const cla_lexicon *stop, const char *line, size_t size,
                               cla_span *keyword, bool *found);
