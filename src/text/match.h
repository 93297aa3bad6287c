/* match.h - words against those of right answers, counted with repetitions. */
#pragma once

#include "text/vocab.h"

/* Answers, zero-initialised empty. */
typedef struct cla_match {
    cla_vocab words; // of the answers
    int32_t *id;     // of all answers, one after the other
    size_t *end;     // of each answer, in id
    size_t id_count, id_cap, count, end_cap;
    int32_t *left; // [words.count], scratch
    size_t left_cap;
} cla_match;

void cla_match_free(cla_match *m);

/* Forgets the answers, keeps memory where it can. */
void cla_match_clear(cla_match *m);

/* A word more of the answer that is being added; the end of it. Errors: CLA_E_NOMEM. */
cla_status cla_match_add(cla_match *m, const char *word);
cla_status cla_match_end(cla_match *m);

/* The largest part of an answer's words that is among words id [n], numbers of m->words
 * or -1; 0 without answers. Errors: CLA_E_NOMEM. */
cla_status cla_match_recall(cla_match *m, const int32_t *id, size_t n, double *recall);

typedef struct cla_match_span {
    size_t first, last; // words, inclusive
    size_t answer;
    double f1; // 2 same / (words of the span + words of the answer); 0: there is none
} cla_match_span;

/* The span of at most limit (0: any number) words of id [n] with the best F1 against
 * any answer: the first one, of those that begin there the longest, and the first
 * answer. Work: answers n (n + their words). Errors: CLA_E_NOMEM. */
cla_status cla_match_best(cla_match *m, const int32_t *id, size_t n, size_t limit,
                          cla_match_span *best);
