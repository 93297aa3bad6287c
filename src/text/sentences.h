/* sentences.h - cuts a paragraph into sentences, and a long sentence into clauses. */
#pragma once

#include "base/text.h"

/* The byte at which each part of a text begins, but the first: those of a text of n
 * parts are n - 1. */
typedef struct cla_cuts {
    size_t *at;
    size_t count, cap;
} cla_cuts;
void cla_cuts_free(cla_cuts *cuts);
cla_status cla_cuts_add(cla_cuts *cuts, size_t at);

typedef struct cla_sentences cla_sentences;

/* Makes what tells the sentences of a language: the rules of Unicode's annex 29 and the
 * abbreviations of its locale data, both by ICU (meson option icu), and the titles and
 * other abbreviations that stand before a name or a number in any language.
 *
 * language  in  a code such as "de" or "pt-BR"; others get the rules of all languages
 *
 * Errors: CLA_E_USAGE (built without ICU), CLA_E_NOMEM. */
cla_status cla_sentences_new(cla_sentences **out, const char *language);
void cla_sentences_free(cla_sentences **sentences);

/* Returns whether the library was built with ICU. */
bool cla_sentences_there(void);

/* Appends the cuts between the sentences of a text, which is UTF-8. The blanks between
 * two sentences belong to the first. Errors: CLA_E_NOMEM. */
cla_status cla_sentences_cut(cla_sentences *sentences, const char *text, size_t size,
                             cla_cuts *cuts);

/* abbreviations.c: returns whether the word before the full stop at byte `end` is short
 * for something, so that no sentence ends there: one letter, a title and the like
 * ("Dr"), or a word such as "no" with a number behind it. */
bool cla_is_abbreviation(const char *text, size_t size, size_t end);

/* clauses.c: returns the byte at which a text of UTF-8 is best cut in two: behind the
 * mark of a clause in its middle half, else before a word there, else between two code
 * points. 0: it cannot be cut. */
size_t cla_clause_cut(const char *text, size_t size);
