/* text.h - a growing string, and numbers parsed the same under every locale. */
#pragma once

#include "base/base.h"

typedef struct cla_text {
    char *data; // NUL-terminated once something was added, else NULL
    size_t size, cap;
} cla_text;

cla_status cla_text_add(cla_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
cla_status cla_text_append(cla_text *text, const char *bytes, size_t size);
void cla_text_free(cla_text *text);
/* Makes a list of the count strings in text, a NUL behind each; it ends with NULL and
 * points into text. The caller frees it. Errors: CLA_E_NOMEM. */
cla_status cla_text_strings(const cla_text *text, size_t count, const char ***list);

/* Appends a word, after a blank unless line is empty, and quotes it for a POSIX shell
 * where necessary. Errors: CLA_E_NOMEM. */
cla_status cla_text_add_word(cla_text *line, const char *word);

/* Parse all of text as a finite number. Return false when it is not one or out of
 * range. */
bool cla_parse_int(const char *text, int64_t *value);
bool cla_parse_double(const char *text, double *value);

bool cla_equals_nocase(const char *a, const char *b);
/* Returns whether text begins with start. */
bool cla_starts_nocase(const char *text, const char *start);
bool cla_contains_nocase(const char *text, const char *part);
bool cla_ends_in(const char *text, const char *end);

/* Returns the number of words in text: runs of bytes other than these blanks. */
size_t cla_count_words(const char *text, const char *blanks);

/* Returns the bytes of a byte order mark at the start of text: 3 or 0. */
size_t cla_mark_size(const char *text, size_t size);
