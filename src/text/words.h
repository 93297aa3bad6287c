/* words.h - splits a text into words and keeps their places in it. */
#pragma once

#include "base/text.h"

/* The place of a word, or of any part, in a text: code points from .. to (exclusive)
 * and bytes at .. at + size (exclusive). */
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
 * not "3-5"). An apostrophe before s, d, m, t, re, ve or ll at the end of a word starts
 * a new word ("Tesla" "'s"). Blanks, control characters and zero-width marks separate
 * words. A byte that is not UTF-8 counts as one code point and is a word of its own.
 * Ideographs are the code points of CLA_UTF8_IDEOGRAPH, so each kana and each wide
 * digit is a word, too.
 * Errors: CLA_E_INPUT (2^31 bytes or more), CLA_E_NOMEM. */
cla_status cla_words_cut(cla_words *words, const char *text, size_t size);

/* Finds the words of words [count] that overlap the code points from .. to: *first ..
 * *last, inclusive. Returns false when there are none. */
bool cla_words_cover(const cla_span *words, size_t count, int32_t from, int32_t to,
                     size_t *first, size_t *last);

/* Returns the place from word first to word last, blanks between them included. */
cla_span cla_words_join(const cla_span *words, size_t first, size_t last);

/* Appends a word of text, in lower case when lower. Errors: CLA_E_NOMEM. */
cla_status cla_words_form(const char *text, const cla_span *word, bool lower,
                          cla_text *out);
