/* match.h - overlap of words with reference answers (bags of words). */
#pragma once

#include "text/vocab.h"

/* The reference answers. {0} is empty. */
typedef struct cla_match {
    cla_vocab words; // of the answers
    int32_t *id;     // of all answers, one after the other
    size_t *end;     // of each answer, in id
    size_t id_count, id_cap, count, end_cap;
    int32_t *left; // [words.count], scratch
    size_t left_cap;
} cla_match;

void cla_match_free(cla_match *m);

/* Removes all answers but keeps the arrays for reuse. */
void cla_match_clear(cla_match *m);

/* add appends a word to the current answer, end closes it. Errors: CLA_E_NOMEM. */
cla_status cla_match_add(cla_match *m, const char *word);
cla_status cla_match_end(cla_match *m);

/* Computes the largest recall of an answer's words among id [n], ids of m->words or -1;
 * 0 without answers. Errors: CLA_E_NOMEM. */
cla_status cla_match_recall(cla_match *m, const int32_t *id, size_t n, double *recall);

typedef struct cla_match_span {
    size_t first, last; // words, inclusive
    size_t answer;
    double f1; // 2 common / (words of the span + words of the answer); 0: no span
} cla_match_span;

/* Finds the span of at most limit (0: any number) words of id [n] with the best F1
 * against any answer. Ties go to the first start, then the longest span, then the first
 * answer. Takes O(answers n (n + words of the answers)). Errors: CLA_E_NOMEM. */
cla_status cla_match_best(cla_match *m, const int32_t *id, size_t n, size_t limit,
                          cla_match_span *best);
