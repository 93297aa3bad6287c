/* reading.h - scores of answers: exact match and F1 of SQuAD, ROUGE-L. */
#pragma once

#include <jansson.h>

#include "metrics/tokens.h"

/* A scorer of SQuAD answers. Source: Rajpurkar et al. 2016, evaluate-v1.1. */
typedef struct cla_squad cla_squad;

cla_status cla_squad_new(cla_squad **out);
void cla_squad_free(cla_squad **s);

/* Normalises an answer: converts it to lower case, removes ASCII punctuation, replaces
 * the words a, an, the by blanks, and separates words by one blank. Errors: CLA_E_INPUT
 * (not UTF-8), CLA_E_NOMEM. */
cla_status cla_squad_normalise(cla_squad *s, const char *answer, cla_text *out);

/* Compares an answer with a reference, both normalised: *exact is 1 when they are
 * equal, else 0; *f1 is 2PR/(P+R) over their words, counted with repetitions. Errors:
 * those of cla_squad_normalise. */
cla_status cla_squad_compare(cla_squad *s, const char *answer, const char *gold,
                             double *exact, double *f1);

/* Computes the same F1 over the non-blank characters of the normalised answers, for
 * text without blanks between words. Errors: those of cla_squad_normalise. */
cla_status cla_squad_characters(cla_squad *s, const char *answer, const char *gold,
                                double *f1);

/* The same by the rules of SQuAD 2.0: an answer or a reference of which nothing is left
 * has F1 1 with another such, else 0. Source: Rajpurkar et al. 2018, evaluate-v2.0. */
cla_status cla_squad_compare_2(cla_squad *s, const char *answer, const char *gold,
                               double *exact, double *f1);

/* Scores of some questions, per cent: best over the references, mean over questions. */
typedef struct cla_squad_share {
    double exact, f1;
    int64_t questions;
} cla_squad_share;

typedef struct cla_squad_scores {
    cla_squad_share all;
    cla_squad_share has_answer, no_answer; // of SQuAD 2.0: HasAns, NoAns
    int64_t unanswered;                    // ids that answers lacks; they score 0
    bool version_2;                        // scored by the rules of SQuAD 2.0
} cla_squad_scores;

/* Scores answers (an object of texts by question id) against data (JSON of SQuAD). The
 * rules are those of 2.0 where the data's "version" is 2 or a question has
 * "is_impossible" or no reference: the right answer to such a question is the empty
 * text. Other data has those of 1.1. The paths are for messages. Errors: CLA_E_INPUT
 * (file and what is missing), CLA_E_NOMEM. */
cla_status cla_squad_score(cla_squad *s, const json_t *data, const char *data_path,
                           const json_t *answers, const char *answers_path,
                           cla_squad_scores *scores);

/* Computes ROUGE-L as DuReader and MS MARCO do: (1 + b^2) P R / (R + b^2 P), b = 1.2; 0
 * when P or R is 0. P is the largest LCS / |candidate| over the references [n], R the
 * largest LCS / |reference|; both maxima may come from different references. Two lines
 * without a word are equal. Errors: CLA_E_NOMEM. Source: Lin 2004. */
cla_status cla_rouge_l(const cla_tokens *candidate, const cla_tokens *references,
                       size_t n, double *score);

/* Computes the same for lines, which t tokenizes. Errors: CLA_E_NOMEM. */
cla_status cla_rouge_l_line(cla_tokenizer *t, const cla_line *candidate,
                            const cla_line *references, size_t n, double *score);
