/* themes.h - words that belong together, as a poets' dictionary lists them by theme. */
#pragma once

#include "text/textrank.h"

/* The ranked words of each theme, zero-initialised empty. */
typedef struct cla_themes {
    int *word;   // ranks
    size_t *end; // of each theme, in word
    size_t word_count, word_cap, count, end_cap;
} cla_themes;

void cla_themes_free(cla_themes *t);

/* Reads a theme a line, words parted by blanks; words without a rank are passed over,
 * and so are lines with fewer than two others. Errors: CLA_E_INPUT (path:line: no text;
 * no theme left), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_themes_read(cla_themes *t, const char *path, const cla_ranking *ranking);

/* Writes what cla_themes_read reads. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_themes_save(const cla_themes *t, const char *path,
                           const cla_ranking *ranking);

/* Appends to word [*n], up to most, the words of the themes that the first `asked` of
 * them stand in: those of more such themes first, then the better ranks; none twice.
 * Errors: CLA_E_NOMEM. */
cla_status cla_themes_near(const cla_themes *t, size_t ranked, int *word, size_t asked,
                           size_t *n, size_t most);
