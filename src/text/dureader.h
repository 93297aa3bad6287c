/* dureader.h - DuReader 2.0: questions with several web pages and answers in free
 * words, a JSON object a line, cut into words by its makers; and lines of MS MARCO
 * (text/msmarco.h), whose passages are documents of one paragraph. */
#pragma once

#include "text/squad.h"

typedef struct cla_dureader_options {
    cla_squad_part part;    // by the hash of a question's id
    int64_t question_limit; // words; 0: any number, here and below
    int64_t passages;       // of a question: those whose paragraphs are the best
    int64_t passage_limit;  // words
    int64_t answer_limit;   // words of a span
    bool by_question;       // choose paragraphs by the question, as for a test
    bool unanswered;        // keep questions of which no answer is found in a passage
} cla_dureader_options;

typedef struct cla_dureader_counts {
    int64_t lines;      // of the file or its part, a question each
    int64_t cut;        // passages cut to the limit
    int64_t empty;      // documents without a word
    int64_t wordless;   // questions without a word or a document that has one
    int64_t unselected; // questions of which no document answers them
    int64_t answerless; // questions of which no span shares a word with an answer
    double f1;          // sum over questions of the F1 of their span
} cla_dureader_counts;

/* Reads path. Of each document one paragraph is the passage: that with the highest
 * recall of an answer's words, or by_question of the question's; of equal ones the
 * shortest. Of more documents than a question may have passages those with the highest
 * recall stay, in their order; unless by_question the ones that are marked as selected
 * come before others. The passage's text is its words without blanks, MS MARCO's as it
 * was written. Among passages of documents that are marked as selected the span with
 * the best F1 against an answer is where that answer stands (cla_reading_gold); other
 * answers are text alone. Questions without such a span are passed over, unless
 * unanswered.
 * Errors: CLA_E_INPUT with path:line (no JSON, what is missing; no question left),
 * CLA_E_IO, CLA_E_NOMEM. Source: He et al. 2018, and the baseline's preprocessing. */
cla_status cla_dureader_read(cla_reading *r, const char *path,
                             const cla_dureader_options *options,
                             cla_dureader_counts *counts);
