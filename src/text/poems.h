/* poems.h - quatrains: four lines of five or of seven characters. */
#pragma once

#include "text/lexicon.h"

enum { CLA_POEM_LINES = 4, CLA_POEM_LONGEST = 7 };

/* Strings are places in cla_poems.bytes. */
typedef struct cla_poem {
    size_t dynasty, author, title; // empty strings where a file has none
    size_t line[CLA_POEM_LINES];
    size_t keyword[CLA_POEM_LINES]; // likewise
    int32_t length;                 // characters of a line: 5 or 7
} cla_poem;

typedef struct cla_poems {
    cla_text bytes;
    cla_poem *poem;
    size_t count, cap;
    int64_t passed_over; // of the file: not four lines of 5 or of 7 characters
} cla_poems;

void cla_poems_free(cla_poems *p);
const char *cla_poems_string(const cla_poems *p, size_t at);

/* Reads a poem a line: dynasty, author, title and the poem, separated by tabs, the
 * lines of the poem by "|". A poem that is no quatrain of ideographs is passed over,
 * or refused when strict. Errors: CLA_E_INPUT with path:line (no text, another number
 * of columns, what strict refuses; no poem), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_poems_read(cla_poems *p, const char *path, bool strict);

/* Reads four lines a poem: a line of it, a tab, and its keyword, which stands in the
 * line. Errors: as above, and a number of lines that four does not divide. */
cla_status cla_poems_read_keywords(cla_poems *p, const char *path, bool strict);

/* Counts the characters of all lines into an empty vocabulary: the special tokens, then
 * by falling counts, at most limit tokens in all (0: any number). Errors: CLA_E_NOMEM.
 */
cla_status cla_poems_vocab(const cla_poems *p, size_t limit, cla_vocab *vocab);

/* Words of two characters, where there is no list of them: those that stand side by
 * side min_count times or more, on one side of a line's rests (after the second
 * character, and the fourth of seven), and ratio times as often as chance would have
 * it: n(ab) N >= ratio n(a) n(b), N characters in all. In falling order of counts.
 * Errors: CLA_E_INPUT (no poem, no pair that is so frequent), CLA_E_NOMEM. */
cla_status cla_poems_words(const cla_poems *p, int64_t min_count, double ratio,
                           cla_lexicon *words);

/* The numbers of the characters of text, at most n of them, which need not be a line of
 * a poem: CLA_UNK for one that vocab lacks. Gives how many there are. */
size_t cla_poems_ids(const char *text, const cla_vocab *vocab, int32_t *ids, size_t n);
