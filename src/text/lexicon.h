/* lexicon.h - a list of words, and text of a script without blanks cut by it. */
#pragma once

#include "text/vocab.h"
#include "text/words.h"

typedef struct cla_lexicon {
    cla_vocab words;
    int32_t longest; // code points of a word
} cla_lexicon;

void cla_lexicon_free(cla_lexicon *l);

/* Reads a word a line; blank lines and words that stand there twice are passed over.
 * Errors: CLA_E_INPUT (path:line: no text, more than 256 bytes; no word), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_lexicon_read(cla_lexicon *l, const char *path);

/* Errors: CLA_E_INPUT (more than 256 bytes), CLA_E_NOMEM. */
cla_status cla_lexicon_add(cla_lexicon *l, const char *word);

/* Whether the bytes are a word of the list. */
bool cla_lexicon_has(const cla_lexicon *l, const char *word, size_t size);

/* Appends the words of text: at each place the longest of the list, or else the letter
 * that stands there. Punctuation, symbols and blanks that no word holds are left out.
 * Errors: CLA_E_INPUT (2^31 bytes or more), CLA_E_NOMEM. */
cla_status cla_lexicon_cut(const cla_lexicon *l, const char *text, size_t size,
                           cla_words *words);
