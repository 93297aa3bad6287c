/* conllu_write.c - writes sentences of Universal Dependencies (CoNLL-U). */
#include <string.h>

#include "base/input.h"
#include "text/conllu.h"

/* Copies a row with one column replaced. */
static cla_status write_row(cla_text *out, const char *row, size_t size,
                            const char *tag, int column)
{
    size_t at = 0;
    for (int tabs = 1; at < size && tabs < column; at++) {
        tabs += row[at] == '\t';
    }
    const char *end = memchr(row + at, '\t', size - at);
    const size_t rest = end ? (size_t)(end - row) : size;
    CLA_TRY(cla_text_add(out, "%.*s%s", (int)at, row, tag));
    return cla_text_append(out, row + rest, size - rest);
}

/* Returns whether the first column of a row is a plain integer. */
static bool is_word_row(const char *row, size_t size)
{
    size_t at = 0;
    while (at < size && row[at] >= '0' && row[at] <= '9') {
        at++;
    }
    return at > 0 && at < size && row[at] == '\t';
}

/* The output of a file's lines. */
typedef struct writer {
    cla_text *out;
    bool open;     // lines were written since the last blank one
    bool carriage; // they end in CR LF
} writer;

/* Ends a block of lines by one blank line. */
static cla_status close_block(writer *w)
{
    const bool open = w->open;
    w->open = false;
    return open ? cla_text_append(w->out, w->carriage ? "\r\n" : "\n",
                                  w->carriage ? 2 : 1)
                : CLA_OK;
}

/* Writes a line, whose CR is one of its bytes; tag, unless NULL, replaces a column. The
 * last line of a file, not ended, gets the end of those before it. */
static cla_status write_line(writer *w, const char *line, size_t size, bool ended,
                             const char *tag, int column)
{
    const bool carriage = size && line[size - 1] == '\r';
    const bool lacks = !ended && w->carriage && !carriage;
    CLA_TRY(tag ? write_row(w->out, line, size, tag, column)
                : cla_text_append(w->out, line, size));
    w->open = true;
    w->carriage = carriage || lacks;
    return cla_text_append(w->out, lacks ? "\r\n" : "\n", lacks ? 2 : 1);
}

/* Writes the lines of text, with one blank line behind each block of them. tags, unless
 * NULL, are those of its words. */
static cla_status write_lines(writer *w, const char *text, size_t size,
                              const char *const *tags, int column)
{
    size_t word = 0;
    for (size_t at = 0; at < size;) {
        const char *line = text + at, *end = memchr(line, '\n', size - at);
        const size_t bytes = end ? (size_t)(end - line) : size - at;
        const bool is_word = tags && is_word_row(line, bytes);
        CLA_TRY(cla_line_is_blank(line, bytes)
                    ? close_block(w)
                    : write_line(w, line, bytes, end != NULL,
                                 is_word ? tags[word] : NULL, column));
        word += is_word;
        at += bytes + 1;
    }
    return close_block(w);
}

/* Writes words alone, as rows. */
static cla_status write_words(const cla_conllu *f, const cla_sentence *s,
                              const char *const *tags, cla_text *out)
{
    const char *const end = s->carriage ? "\r\n" : "\n";
    for (size_t i = 0; i < s->count; i++) {
        const bool upos = f->column == CLA_UPOS;
        CLA_TRY(cla_text_add(out, "%zu\t%s\t_\t%s\t%s\t_\t_\t_\t_\t_%s", i + 1,
                             f->words[s->first + i].form, upos ? tags[i] : CLA_NO_TAG,
                             upos ? CLA_NO_TAG : tags[i], end));
    }
    return cla_text_append(out, end, strlen(end));
}

cla_status cla_conllu_write(const cla_conllu *f, size_t s, const char *const *tags,
                            cla_text *out)
{
    const cla_sentence *sentence = &f->sentences[s];
    if (!f->raw) {
        return write_words(f, sentence, tags, out);
    }
    writer w = { .out = out };
    return write_lines(&w, f->raw + sentence->begin, sentence->end - sentence->begin,
                       tags, f->column);
}

cla_status cla_conllu_write_comments(const char *text, size_t size, cla_text *out)
{
    writer w = { .out = out };
    return write_lines(&w, text, size, NULL, 0);
}
