/* poems.h - quatrains: four lines of five or of seven characters. */
#pragma once

#include "text/lexicon.h"

enum { CLA_POEM_LINES = 4, CLA_POEM_LONGEST = 7 };

/* A poem. Strings are offsets into cla_poems.bytes. */
typedef struct cla_poem {
    size_t dynasty, author, title; // empty where the file has none
    size_t line[CLA_POEM_LINES];
    size_t keyword[CLA_POEM_LINES]; // empty where the file has none
    int32_t length;                 // characters of a line: 5 or 7
} cla_poem;

typedef struct cla_poems {
    cla_text bytes;
    cla_poem *poem;
    size_t count, cap;
    int64_t passed_over; // skipped poems: not four lines of 5 or of 7 characters
} cla_poems;

void cla_poems_free(cla_poems *p);
const char *cla_poems_string(const cla_poems *p, size_t at);

/* Reads a poem a line: dynasty, author, title and poem, separated by tabs; "|"
 * separates the lines of the poem. A poem that is not a quatrain of ideographs is
 * skipped, or an error when strict. Errors: CLA_E_INPUT with path:line (not UTF-8 text,
 * a wrong number of columns, strict, no poem), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_poems_read(cla_poems *p, const char *path, bool strict);

/* Reads four rows a poem: a line of the poem, a tab, and a keyword that occurs in it.
 * Errors: those of cla_poems_read; also a number of rows that is no multiple of 4. */
cla_status cla_poems_read_keywords(cla_poems *p, const char *path, bool strict);

/* Fills an empty vocabulary with the special tokens and the characters of all lines in
 * falling order of counts, at most limit tokens (0: any number). Errors: CLA_E_NOMEM.
 */
cla_status cla_poems_vocab(const cla_poems *p, size_t limit, cla_vocab *vocab);

/* Learns words of two characters, for use without a word list. A pair ab of adjacent
 * characters is a word when it occurs min_count times or more and
 *   n(ab) N >= ratio n(a) n(b),   N characters in all.
 * A pair never spans a rest of its line (after the second character, and after the
 * fourth of seven). Words come in falling order of counts.
 * Errors: CLA_E_INPUT (no poem, no such pair), CLA_E_NOMEM. */
cla_status cla_poems_words(const cla_poems *p, int64_t min_count, double ratio,
                           cla_lexicon *words);

/* Writes the ids of the characters of text, at most n; CLA_UNK for those that vocab
 * lacks. Any text will do. Returns the number of ids. */
size_t cla_poems_ids(const char *text, const cla_vocab *vocab, int32_t *ids, size_t n);
