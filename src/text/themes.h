/* themes.h - a poets' dictionary: lists of words by theme. */
#pragma once

#include "text/textrank.h"

/* The ranked words of each theme. {0} is empty. */
typedef struct cla_themes {
    int *word;   // ranks
    size_t *end; // of each theme, in word
    size_t word_count, word_cap, count, end_cap;
} cla_themes;

void cla_themes_free(cla_themes *t);

/* Reads a theme a line, words separated by blanks. Skips words without a rank, then
 * lines with fewer than two words. Errors: CLA_E_INPUT (path:line: not UTF-8 text; no
 * theme left), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_themes_read(cla_themes *t, const char *path, const cla_ranking *ranking);

/* Writes a file for cla_themes_read. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_themes_save(const cla_themes *t, const char *path,
                           const cla_ranking *ranking);

/* Appends related words to word [*n] until there are `most`: the words of all themes
 * that contain one of the first `asked` words, in falling order of the number of such
 * themes, then by rank, without duplicates. Errors: CLA_E_NOMEM. */
cla_status cla_themes_near(const cla_themes *t, size_t ranked, int *word, size_t asked,
                           size_t *n, size_t most);
