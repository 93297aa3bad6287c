/* textrank.h - ranks words by TextRank over co-occurrence in lines. */
#pragma once

#include "base/pairmap.h"
#include "text/lexicon.h"

/* Words in falling order of scores; a word's id is its rank, from 0. */
typedef struct cla_ranking {
    cla_vocab words;
    double *score; // [words.count]
} cla_ranking;

void cla_ranking_free(cla_ranking *r);

/* Write and read a file of one word, a tab and its score a line. Errors: CLA_E_IO,
 * CLA_E_INPUT with path:line (not UTF-8 text, not a word and a number, a score above
 * that of the line before, a duplicate word, no word), CLA_E_NOMEM. */
cla_status cla_ranking_save(const cla_ranking *r, const char *path);
cla_status cla_ranking_load(cla_ranking *r, const char *path);

/* The co-occurrence graph. {0} is empty. */
typedef struct cla_textrank {
    cla_vocab words;
    struct cla_textrank_edge *edge;
    size_t edge_count, edge_cap;
    cla_pairmap index; // edge of a pair of words
} cla_textrank;

void cla_textrank_free(cla_textrank *t);

/* Adds weight to the edge between two words; new words are added. An edge from a word
 * to itself is ignored. Errors: CLA_E_USAGE (weight not above 0), CLA_E_NOMEM. */
cla_status cla_textrank_join(cla_textrank *t, const char *a, const char *b,
                             double weight);

/* Adds 1 to the edge of every pair of words of a line. Words are those of lexicon
 * except the stop words (stop may be NULL). Errors: CLA_E_NOMEM. */
cla_status cla_textrank_add(cla_textrank *t, const cla_lexicon *lexicon,
                            const cla_lexicon *stop, const char *line, size_t size);

/* Iterates
 *   S(i) = (1 - d) + d sum_j w_ji / (sum_k w_jk) S(j),   d = 0.85,
 * from S = 1 until no score changes by more than 1e-9. The scores of connected words
 * sum to their number; an isolated word has 0.15. Equal scores keep the order of
 * addition. Errors: CLA_E_INPUT (no word), CLA_E_NOMEM. Source: Mihalcea and Tarau
 * 2004. */
cla_status cla_textrank_rank(const cla_textrank *t, cla_ranking *r);

/* Finds the keyword of a line: its best-ranked word that is not a stop word, else its
 * first word that is not a stop word, else its first word. *found is false for a line
 * without words. Errors: those of cla_lexicon_cut. */
cla_status cla_ranking_keyword(const cla_ranking *r, const cla_lexicon *lexicon,
                               const cla_lexicon *stop, const char *line, size_t size,
                               cla_span *keyword, bool *found);
