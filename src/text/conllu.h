/* conllu.h - CoNLL-U files of Universal Dependencies: reads words and tags, keeps the
 * rest for writing. */
#pragma once

#include "base/text.h"

/* Columns of tags, and what stands there instead of none. */
enum { CLA_UPOS = 4, CLA_XPOS = 5 };
#define CLA_NO_TAG "_"

/* One word: a row whose id is a whole number. */
typedef struct cla_word {
    const char *form; // column 2
    const char *tag;  // column 4, UPOS, or 5, XPOS; "_" when there is none
    int line;         // in the file, from 1
} cla_word;

typedef struct cla_sentence {
    size_t first, count; // words
    size_t begin, end; // bytes of the file, with comments before it that have no words
    bool carriage;     // of words alone: their line ends in CR LF
} cla_sentence;

/* A whole file. Strings point into it. */
typedef struct cla_conllu {
    char *path;
    int lines_before; // of a stream, for messages
    char *raw;        // the bytes as read, which cla_conllu_write copies; NULL: words
                      // alone
    size_t raw_size;
    int column; // of the tags: CLA_UPOS, or CLA_XPOS after cla_conllu_use_xpos
    char *cut;  // the same bytes, cut into NUL-terminated columns or words
    cla_word *words;
    size_t word_count, word_cap;
    cla_sentence *sentences;
    size_t sentence_count, sentence_cap;
} cla_conllu;

/* Reads a file by the rules of base/input.h and checks that it has ten columns, and
 * that ids count from 1 (ranges and empty nodes may come between). A line of blanks is
 * an empty line. Errors: CLA_E_INPUT with path:line, CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_conllu_read(cla_conllu *file, const char *path);

/* Parses data, which file then owns. path and lines_before are for messages. */
cla_status cla_conllu_parse(cla_conllu *file, const char *path, int lines_before,
                            char *data, size_t size);

/* Takes the words' tags from column 5. */
void cla_conllu_use_xpos(cla_conllu *file);

/* Takes the words of plain text (one sentence a line, words separated by blanks), which
 * file then owns. They are written as rows that have id, form and tag alone, and the
 * line end of their line. Errors: as cla_conllu_parse. */
cla_status cla_conllu_from_lines(cla_conllu *file, const char *path, int lines_before,
                                 char *data, size_t size);
/* Makes a file of sentences whose words stay the caller's: length [sentences] of them
 * each. Errors: CLA_E_NOMEM. */
cla_status cla_conllu_from_words(cla_conllu *file, const char *const *words,
                                 const size_t *length, size_t sentences);
void cla_conllu_free(cla_conllu *file);

/* The form of a text. */
typedef enum cla_conllu_form {
    CLA_FORM_UNKNOWN,
    CLA_FORM_CONLLU,
    CLA_FORM_WORDS,
    CLA_FORM_NEITHER,
} cla_conllu_form;

/* Tells the form of a text from a line that is neither blank nor a comment. CoNLL-U is
 * ten columns, the first an id. Neither is a row that CoNLL-U would refuse and words
 * would not have: ten columns with a "_" among them, or three and more after the id of
 * a first row. All else is words. */
cla_conllu_form cla_conllu_guess(const char *line);

/* Appends sentence s to out with tags in the tags' column of its words, and one blank
 * line. All other bytes are those of the file: comments without words before it too,
 * and, of the last sentence, behind it. Of several blank lines one is written. A line
 * end that is missing is like those before it. */
cla_status cla_conllu_write(const cla_conllu *file, size_t s, const char *const *tags,
                            cla_text *out);
/* Appends a text that has comments alone in the same way. */
cla_status cla_conllu_write_comments(const char *text, size_t size, cla_text *out);
