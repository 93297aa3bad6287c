/* conllu.h - sentences of Universal Dependencies: words and tags read, all else kept.
 * */
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
    char *raw;        // as read: what a writer copies
    size_t raw_size;
    char *cut; // the same bytes, cut into NUL-terminated columns
    cla_word *words;
    size_t word_count, word_cap;
    cla_sentence *sentences;
    size_t sentence_count, sentence_cap;
} cla_conllu;

/* Reads and checks: UTF-8, ten columns, ids rising from 1 (ranges and empty nodes
 * allowed in between). Lines may end in CRLF; a last newline may be missing.
 * Errors: CLA_E_INPUT with path:line, CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_conllu_read(cla_conllu *file, const char *path);

/* The same from memory (taken over); path and the lines before it are for messages. */
cla_status cla_conllu_parse(cla_conllu *file, const char *path, int lines_before,
                            char *data, size_t size);

/* Plain text, a sentence a line, words separated by blanks, as CoNLL-U rows of which
 * only id and form are filled. */
cla_status cla_conllu_from_lines(cla_conllu *file, const char *path, int lines_before,
                                 char *data, size_t size);
void cla_conllu_free(cla_conllu *file);

/* Appends sentence s to out with column 4 of its words replaced; every other byte
 * stays. */
cla_status cla_conllu_write(const cla_conllu *file, size_t s, const char *const *tags,
                            cla_text *out);
