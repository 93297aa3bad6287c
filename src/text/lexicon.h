/* lexicon.h - a word list, and segmentation by it for scripts without blanks. */
#pragma once

#include "text/vocab.h"
#include "text/words.h"

typedef struct cla_lexicon {
    cla_vocab words;
    int32_t longest; // code points of the longest word
} cla_lexicon;

void cla_lexicon_free(cla_lexicon *l);

/* Reads a word a line; skips blank lines and duplicates. Errors: CLA_E_INPUT with
 * path:line (not UTF-8 text, a word of more than 256 bytes, no word), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_lexicon_read(cla_lexicon *l, const char *path);

/* Adds a word. Errors: CLA_E_INPUT (more than 256 bytes), CLA_E_NOMEM. */
cla_status cla_lexicon_add(cla_lexicon *l, const char *word);

/* Whether the bytes are a word of the list. */
bool cla_lexicon_has(const cla_lexicon *l, const char *word, size_t size);

/* Segments text by forward maximum matching and appends the words: at each place the
 * longest word of the list, else one letter. Punctuation, symbols and blanks outside of
 * words are left out.
 * Errors: CLA_E_INPUT (2^31 bytes or more), CLA_E_NOMEM. */
cla_status cla_lexicon_cut(const cla_lexicon *l, const char *text, size_t size,
                           cla_words *words);
