/* reading.h - a reading comprehension data set: passages, questions and answers. */
#pragma once

#include <jansson.h>

#include "text/vocab.h"
#include "text/words.h"

/* A string in cla_reading.bytes and its words. */
typedef struct cla_reading_text {
    size_t at, size;     // bytes; a NUL follows
    size_t first, count; // words
} cla_reading_text;

/* A reference answer: its text and, where it is a span of a passage, the span's first
 * and last word (inclusive). */
typedef struct cla_reading_answer {
    cla_reading_text text; // without words
    int32_t passage;       // -1: text alone
    int32_t first, last;
} cla_reading_answer;

typedef struct cla_reading_question {
    size_t id; // in the data set; an offset into bytes
    cla_reading_text text;
    int32_t passage, passages; // its first passage and their number
    int32_t answer, answers;   // its first answer and their number
    bool impossible;           // SQuAD 2.0: an empty list of answers
} cla_reading_question;

typedef struct cla_reading {
    cla_text bytes;
    cla_words words; // of all texts; places are relative to the word's own text
    bool free_words; // answers are free-form, not spans of passages
    bool blanks;     // words of free-form answers are separated by blanks
    cla_reading_text *passages;
    cla_reading_question *questions;
    cla_reading_answer *answers;
    size_t passage_count, question_count, answer_count;
    size_t passage_cap, question_cap, answer_cap;
} cla_reading;

void cla_reading_free(cla_reading *r);

/* Returns the string at offset `at` of r->bytes; invalid once r grows. */
const char *cla_reading_string(const cla_reading *r, size_t at);

/* Returns the question's first answer that is a span of a passage, or NULL. */
const cla_reading_answer *cla_reading_gold(const cla_reading *r,
                                           const cla_reading_question *question);

/* Computes the place of the words first .. last (inclusive) in the passage's text,
 * blanks between them included. Errors: CLA_E_SHAPE (no such words). */
cla_status cla_reading_place(const cla_reading *r, size_t passage, int32_t first,
                             int32_t last, cla_span *place);

/* Appends the text of the words first .. last to out, as metrics expect an answer.
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM. */
cla_status cla_reading_quote(const cla_reading *r, size_t passage, int32_t first,
                             int32_t last, cla_text *out);

/* Fills an empty vocabulary with the special tokens and the words of passages and
 * questions that occur min_count times or more, in falling order of counts; in lower
 * case when lower; at most limit tokens in all (0: any number). Errors: CLA_E_NOMEM. */
cla_status cla_reading_vocab(const cla_reading *r, int64_t min_count, bool lower,
                             size_t limit, cla_vocab *vocab);

/* Writes the id of each word to ids [r->words.count]; CLA_UNK for words that vocab
 * lacks. Errors: CLA_E_NOMEM. */
cla_status cla_reading_ids(const cla_reading *r, const cla_vocab *vocab, bool lower,
                           int32_t *ids);

/* Returns the id of a question as text, in digits if it is a whole number; NULL if it
 * is neither. */
enum { CLA_READING_DIGITS = 32 };
const char *cla_reading_id(const json_t *id, char digits[CLA_READING_DIGITS]);

/* ---- for readers of file formats ---------------------------------------------- */

/* add_text appends bytes to r as a text. cut appends the text's words, at most limit
 * (0: all); *was_cut tells whether some were left out. Errors: CLA_E_INPUT (too long),
 * CLA_E_NOMEM. */
cla_status cla_reading_add_text(cla_reading *r, const char *bytes, size_t size,
                                cla_reading_text *text);
cla_status cla_reading_cut(cla_reading *r, cla_reading_text *text, int64_t limit,
                           bool *was_cut);

/* Append one passage, question or answer. Errors: CLA_E_NOMEM. */
cla_status cla_reading_add_passage(cla_reading *r, const cla_reading_text *text);
cla_status cla_reading_add_question(cla_reading *r, const cla_reading_question *one);
cla_status cla_reading_add_answer(cla_reading *r, const cla_reading_answer *one);
