/* utf8.h - Unicode code points, through utf8proc. */
#pragma once

#include "base/text.h"

/* Returns the position of the first byte that is not UTF-8, or size. */
size_t cla_utf8_check(const char *text, size_t size);

/* Reads one code point at text (valid UTF-8, not at its end); returns its length in
 * bytes. */
int cla_utf8_next(const char *text, int32_t *code);

/* Reads one code point from any bytes (size > 0). A byte that is not UTF-8 is a code
 * point of its own, 0xFFFD. */
int cla_utf8_step(const char *text, size_t size, int32_t *code);

/* Returns the number of code points in text (valid UTF-8). */
int32_t cla_utf8_count(const char *text, size_t size);

/* Writes a code point and a NUL to out[5]; returns its length in bytes. */
int cla_utf8_put(int32_t code, char out[5]);

/* The class of a code point for splitting text into words. */
typedef enum cla_utf8_kind {
    CLA_UTF8_WORD,        // letters, digits, marks and everything else
    CLA_UTF8_PUNCTUATION, // categories P and S
    CLA_UTF8_IDEOGRAPH,   // Han, kana, bopomofo, their punctuation and wide forms
    CLA_UTF8_BLANK        // categories Z and Cc
} cla_utf8_kind;
cla_utf8_kind cla_utf8_kind_of(int32_t code);

/* Returns whether code is a letter, a mark or a number, of any script. */
bool cla_utf8_is_letter(int32_t code);

/* Returns whether code separates words: the characters of Python's str.split. */
bool cla_utf8_is_space(int32_t code);

/* Return whether code is a small letter, or a capital one, that has the other form. */
bool cla_utf8_is_small(int32_t code);
bool cla_utf8_is_capital(int32_t code);

/* Returns the code point in lower case, by Unicode's simple mapping. Vocabularies of
 * trained readers and taggers depend on this mapping; metrics use cla_utf8_lower_text.
 */
int32_t cla_utf8_lower(int32_t code);

/* Appends the text in lower case to out, as Python's str.lower: a capital sigma at the
 * end of a word becomes a final sigma, and U+0130 becomes "i" and U+0307. Copies bytes
 * that are not UTF-8. Errors: CLA_E_NOMEM. */
cla_status cla_utf8_lower_text(const char *text, size_t size, cla_text *out);
