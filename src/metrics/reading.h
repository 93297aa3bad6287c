/* reading.h - scores of answers: exact match and F1 of SQuAD, ROUGE-L. */
#pragma once

#include <jansson.h>

#include "metrics/tokens.h"

/* SQuAD's view of answers; Rajpurkar et al. 2016, evaluate-v1.1. */
typedef struct cla_squad cla_squad;

cla_status cla_squad_new(cla_squad **out);
void cla_squad_free(cla_squad **s);

/* Lower case; ASCII punctuation dropped; the words a, an, the made blanks; words with
 * one blank between. Errors: CLA_E_INPUT (not UTF-8), CLA_E_NOMEM. */
cla_status cla_squad_normalise(cla_squad *s, const char *answer, cla_text *out);

/* 1 when the normalised answers are equal, else 0; 2PR/(P+R) over their words, counted
 * with repetitions. Errors: as above. */
cla_status cla_squad_compare(cla_squad *s, const char *answer, const char *gold,
                             double *exact, double *f1);

/* The same F1 over the normalised answers' characters that are no blanks, as for text
 * without blanks between words. Errors: as above. */
cla_status cla_squad_characters(cla_squad *s, const char *answer, const char *gold,
                                double *f1);

typedef struct cla_squad_scores {
    double exact, f1; // per cent, means over questions of the best gold answer
    int64_t questions, unanswered;
} cla_squad_scores;

/* data: the JSON of SQuAD 1.1; answers: an object of ids and texts. paths are for
 * messages. Errors: CLA_E_INPUT (naming the file and what is missing), CLA_E_NOMEM. */
cla_status cla_squad_score(cla_squad *s, const json_t *data, const char *data_path,
                           const json_t *answers, const char *answers_path,
                           cla_squad_scores *scores);

/* ROUGE-L (Lin 2004) as DuReader and MS MARCO use it: with P and R the best
 * LCS / |candidate| and LCS / |reference| over the references, each on its own,
 * (1 + b^2) P R / (R + b^2 P), b = 1.2; 0 when P or R is 0. Errors: CLA_E_NOMEM. */
cla_status cla_rouge_l(const cla_tokens *candidate, const cla_tokens *references,
                       size_t n, double *score);

/* The same of lines in a tokenizer's tokens. Errors: CLA_E_NOMEM. */
cla_status cla_rouge_l_line(cla_tokenizer *t, const cla_line *candidate,
                            const cla_line *references, size_t n, double *score);
