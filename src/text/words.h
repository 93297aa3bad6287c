/* words.h - a text as words that know where they stand in it. */
#pragma once

#include "base/text.h"

/* Where a word, or any part of a text, stands: code points from .. to (exclusive),
 * which are the bytes at .. at + size. */
typedef struct cla_span {
    int32_t from, to;
    int32_t at, size;
} cla_span;

typedef struct cla_words {
    cla_span *word;
    size_t count, cap;
} cla_words;

void cla_words_free(cla_words *words);

/* Appends the words of text: runs of letters and digits; each punctuation mark and
 * symbol; each ideograph. A point or comma stays inside a number ("1,000", "3.5", but
 * not "3-5"), and an apostrophe before s, d, m, t, re, ve or ll at a word's end begins
 * the word that these letters are ("Tesla" "'s"). Blanks, control characters and marks
 * of no width are between words. A byte that is not UTF-8 counts as one code point and
 * is a word of its own. Ideographs are the code points of CLA_UTF8_IDEOGRAPH, so kana
 * and wide digits are cut too.
 * Errors: CLA_E_INPUT (2^31 bytes or more), CLA_E_NOMEM. */
cla_status cla_words_cut(cla_words *words, const char *text, size_t size);

/* The words of words[0..count), in order, that overlap code points from .. to: *first
 * .. *last, inclusive. False when none does. */
bool cla_words_cover(const cla_span *words, size_t count, int32_t from, int32_t to,
                     size_t *first, size_t *last);

/* The part of the text from word first to word last, blanks between them included. */
cla_span cla_words_join(const cla_span *words, size_t first, size_t last);

/* Appends the word of text, in lower case when lower. Errors: CLA_E_NOMEM. */
cla_status cla_words_form(const char *text, const cla_span *word, bool lower,
                          cla_text *out);
