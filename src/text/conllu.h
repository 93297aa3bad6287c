/* conllu.h - CoNLL-U files of Universal Dependencies: reads words and tags, keeps the
 * rest for writing. */
#pragma once

#include "base/text.h"

/* One word: a row whose id is a whole number. */
typedef struct cla_word {
    const char *form; // column 2
    const char *tag;  // column 4, UPOS; "_" when there is none
    int line;         // in the file, from 1
} cla_word;

typedef struct cla_sentence {
    size_t first, count; // words
    size_t begin, end;   // bytes of the file, blank line excluded
} cla_sentence;

/* A whole file. Strings point into it. */
typedef struct cla_conllu {
    char *path;
    int lines_before; // of a stream, for messages
    char *raw;        // the bytes as read, which cla_conllu_write copies
    size_t raw_size;
    char *cut; // the same bytes, cut into NUL-terminated columns
    cla_word *words;
    size_t word_count, word_cap;
    cla_sentence *sentences;
    size_t sentence_count, sentence_cap;
} cla_conllu;

/* Reads a file and checks that it is UTF-8, has ten columns, and that ids count from 1
 * (ranges and empty nodes may come between). Lines may end in CRLF; the last line end
 * may be missing.
 * Errors: CLA_E_INPUT with path:line, CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_conllu_read(cla_conllu *file, const char *path);

/* Parses data, which file then owns. path and lines_before are for messages. */
cla_status cla_conllu_parse(cla_conllu *file, const char *path, int lines_before,
                            char *data, size_t size);

/* Converts plain text (one sentence a line, words separated by blanks) to CoNLL-U rows
 * that have id and form alone. */
cla_status cla_conllu_from_lines(cla_conllu *file, const char *path, int lines_before,
                                 char *data, size_t size);
void cla_conllu_free(cla_conllu *file);

/* Appends sentence s to out with tags in column 4 of its words; all other bytes are
 * those of the file. */
cla_status cla_conllu_write(const cla_conllu *file, size_t s, const char *const *tags,
                            cla_text *out);
