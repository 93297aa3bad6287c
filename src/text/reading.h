/* reading.h - passages, questions and answers as words: what readers learn from. */
#pragma once

#include <jansson.h>

#include "text/vocab.h"
#include "text/words.h"

/* A string of cla_reading.bytes and its words. */
typedef struct cla_reading_text {
    size_t at, size;     // bytes; a NUL follows
    size_t first, count; // words
} cla_reading_text;

/* A right answer: what was written and, where it stands in a passage, from which word
 * of it to which, inclusive. */
typedef struct cla_reading_answer {
    cla_reading_text text; // without words
    int32_t passage;       // -1: stands in none
    int32_t first, last;
} cla_reading_answer;

typedef struct cla_reading_question {
    size_t id; // of the data; bytes
    cla_reading_text text;
    int32_t passage, passages; // the first it is asked about, and how many
    int32_t answer, answers;
} cla_reading_question;

typedef struct cla_reading {
    cla_text bytes;
    cla_words words; // of all texts; each stands where it does in its own text
    bool free_words; // answers are, not parts of passages
    bool blanks;     // such answers have blanks between words
    cla_reading_text *passages;
    cla_reading_question *questions;
    cla_reading_answer *answers;
    size_t passage_count, question_count, answer_count;
    size_t passage_cap, question_cap, answer_cap;
} cla_reading;

void cla_reading_free(cla_reading *r);

/* The string at a place of r->bytes; it moves when r grows. */
const char *cla_reading_string(const cla_reading *r, size_t at);

/* The first answer of a question that stands in a passage, or NULL. */
const cla_reading_answer *cla_reading_gold(const cla_reading *r,
                                           const cla_reading_question *question);

/* Where the words from first to last of a passage stand in its text, blanks between
 * included. Errors: CLA_E_SHAPE (no such words). */
cla_status cla_reading_place(const cla_reading *r, size_t passage, int32_t first,
                             int32_t last, cla_span *place);

/* What stands there, appended to out: an answer as a metric wants it.
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM. */
cla_status cla_reading_quote(const cla_reading *r, size_t passage, int32_t first,
                             int32_t last, cla_text *out);

/* Counts the words of passages and questions into an empty vocabulary that begins with
 * the special tokens: falling counts, at least min_count. lower: in lower case.
 * Errors: CLA_E_NOMEM. */
cla_status cla_reading_vocab(const cla_reading *r, int64_t min_count, bool lower,
                             cla_vocab *vocab);

/* The number of each word, ids [r->words.count]; CLA_UNK for one that vocab lacks.
 * Errors: CLA_E_NOMEM. */
cla_status cla_reading_ids(const cla_reading *r, const cla_vocab *vocab, bool lower,
                           int32_t *ids);

/* ---- for those who read files ------------------------------------------------- */

/* Appends bytes to r. cut: and its words, at most limit (0: all) of them. *was_cut says
 * that some were left out. Errors: CLA_E_INPUT (too long), CLA_E_NOMEM. */
cla_status cla_reading_add_text(cla_reading *r, const char *bytes, size_t size,
                                cla_reading_text *text);
cla_status cla_reading_cut(cla_reading *r, cla_reading_text *text, int64_t limit,
                           bool *was_cut);

/* Each appends one thing. Errors: CLA_E_NOMEM. */
cla_status cla_reading_add_passage(cla_reading *r, const cla_reading_text *text);
cla_status cla_reading_add_question(cla_reading *r, const cla_reading_question *one);
cla_status cla_reading_add_answer(cla_reading *r, const cla_reading_answer *one);

/* JSON from memory; a byte order mark is passed over. line is the first one's number.
 * Errors: CLA_E_INPUT (path:line:column). */
cla_status cla_reading_json(const char *path, size_t line, const char *data,
                            size_t size, json_t **root);
