/* dureader.h - DuReader 2.0: questions with several web pages and free-form answers, a
 * JSON object a line, segmented into words by its authors. Also reads MS MARCO lines
 * (text/msmarco.h), whose passages become documents of one paragraph. */
#pragma once

#include "text/squad.h"

typedef struct cla_dureader_options {
    cla_squad_part part;    // by the hash of a question's id
    int64_t question_limit; // words; 0: any number, here and below
    int64_t passages;       // of a question: those with the highest recall
    int64_t passage_limit;  // words
    int64_t answer_limit;   // words of an answer span
    bool by_question;       // select paragraphs by the question, as at test time
    bool unanswered;        // keep questions without an answer in any passage
} cla_dureader_options;

typedef struct cla_dureader_counts {
    int64_t lines;      // questions of the file or its part
    int64_t cut;        // passages cut to the limit
    int64_t empty;      // documents without a word
    int64_t wordless;   // questions without a word or a document that has one
    int64_t unselected; // questions without a document marked as selected
    int64_t answerless; // questions without a span that shares a word with an answer
    double f1;          // sum of the F1 of the chosen spans over questions
} cla_dureader_counts;

/* Reads path.
 *
 * Passages: each document gives one paragraph, the one with the highest recall of an
 * answer's words (with by_question: of the question's words); ties go to the shortest.
 * When there are more documents than passages, those with the highest recall are kept
 * in their order; without by_question, documents marked as selected are preferred. The
 * text of a passage is its words without blanks; MS MARCO's keeps its own text.
 *
 * Answers: the gold answer (cla_reading_gold) is the span with the best F1 against any
 * answer, among the passages of selected documents; the other answers are text alone.
 * Questions without such a span are skipped unless unanswered is set.
 *
 * Errors: CLA_E_INPUT with path:line (no JSON, what is missing; no question left),
 * CLA_E_IO, CLA_E_NOMEM. Source: He et al. 2018, and the baseline's preprocessing. */
cla_status cla_dureader_read(cla_reading *r, const char *path,
                             const cla_dureader_options *options,
                             cla_dureader_counts *counts);
