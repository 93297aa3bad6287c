/* conllu.c - reads and writes sentences of Universal Dependencies (CoNLL-U). */
#include "text/conllu.h"

#include <string.h>

#include "base/file.h"
#include "base/utf8.h"

enum { COLUMNS = 10 };

/* State while a sentence is read. */
typedef struct reader {
    cla_conllu *file;
    int line;
    int last_id;      // of the sentence's words so far
    bool in_sentence; // a row or comment was seen
    size_t begin;
    size_t first_word;
} reader;

static cla_status bad(const reader *r, const char *what, const char *detail)
{
    return cla_fail(CLA_E_INPUT, "%s:%d: %s%s%.40s%s", r->file->path, r->line, what,
                    *detail ? " '" : "", detail, *detail ? "'" : "");
}

/* Cuts a row at its tabs only: forms may contain blanks. */
static cla_status cut_columns(const reader *r, char *row, char *column[COLUMNS])
{
    int n = 0;
    for (char *at = row; at; n++) {
        char *tab = strchr(at, '\t');
        if (tab) {
            *tab = 0;
        }
        if (n < COLUMNS) {
            column[n] = at;
        }
        at = tab ? tab + 1 : NULL;
    }
    return n == COLUMNS ? CLA_OK
                        : cla_fail(CLA_E_INPUT, "%s:%d: %d columns, must be %d",
                                   r->file->path, r->line, n, COLUMNS);
}

static bool read_number(const char **text, int *value)
{
    int n = 0, digits = 0;
    for (; **text >= '0' && **text <= '9' && digits < 9; (*text)++, digits++) {
        n = 10 * n + (**text - '0');
    }
    *value = n;
    return digits > 0;
}

/* Parses an id. *is_word is false for rows that are no word (3-4, 5.1). */
static cla_status read_id(reader *r, const char *id, bool *is_word)
{
    const char *at = id;
    int first = 0, second = 0;
    if (!read_number(&at, &first)) {
        return bad(r, "bad id", id);
    }
    if (*at == '-' || *at == '.') {
        const bool range = *at++ == '-';
        *is_word = false;
        if (!read_number(&at, &second) || *at) {
            return bad(r, "bad id", id);
        }
        const bool fits = range ? first == r->last_id + 1 && second >= first
                                : first == r->last_id && second > 0;
        return fits ? CLA_OK : bad(r, "id out of order", id);
    }
    *is_word = true;
    if (*at || first != r->last_id + 1) {
        return *at ? bad(r, "bad id", id)
                   : cla_fail(CLA_E_INPUT, "%s:%d: id %d after %d", r->file->path,
                              r->line, first, r->last_id);
    }
    r->last_id = first;
    return CLA_OK;
}

static cla_status read_row(reader *r, char *row)
{
    char *column[COLUMNS];
    bool is_word = false;
    CLA_TRY(cut_columns(r, row, column));
    CLA_TRY(read_id(r, column[0], &is_word));
    if (!is_word) {
        return CLA_OK;
    }
    if (!*column[1]) {
        return bad(r, "empty form", "");
    }
    cla_conllu *f = r->file;
    CLA_TRY(cla_grow(&f->words, &f->word_cap, f->word_count + 1, sizeof *f->words));
    f->words[f->word_count++] = (cla_word){ column[1], column[3], r->line };
    return CLA_OK;
}

static cla_status end_sentence(reader *r, size_t end)
{
    cla_conllu *f = r->file;
    if (f->word_count > r->first_word) {
        CLA_TRY(cla_grow(&f->sentences, &f->sentence_cap, f->sentence_count + 1,
                         sizeof *f->sentences));
        f->sentences[f->sentence_count++] =
            (cla_sentence){ r->first_word, f->word_count - r->first_word, r->begin,
                            end };
    }
    r->in_sentence = false;
    r->last_id = 0;
    r->first_word = f->word_count;
    return CLA_OK;
}

static cla_status read_line(reader *r, char *line, size_t size, size_t at)
{
    if (size && line[size - 1] == '\r') {
        line[--size] = 0;
    }
    if (!size) {
        return end_sentence(r, at);
    }
    if (!r->in_sentence) {
        r->in_sentence = true;
        r->begin = at;
    }
    return line[0] == '#' ? CLA_OK : read_row(r, line);
}

static int line_of(const char *data, size_t at)
{
    int line = 1;
    for (size_t i = 0; i < at; i++) {
        line += data[i] == '\n';
    }
    return line;
}

static cla_status check_text(const char *path, int lines_before, const char *data,
                             size_t size)
{
    const size_t bad_byte = cla_utf8_check(data, size);
    const char *nul = size ? memchr(data, 0, size) : NULL;
    if (nul) {
        return cla_fail(CLA_E_INPUT, "%s:%d: holds a NUL byte", path,
                        lines_before + line_of(data, (size_t)(nul - data)));
    }
    if (bad_byte == size) {
        return CLA_OK;
    }
    const char *before = memrchr(data, '\n', bad_byte); // the end of the line before
    const size_t start = before ? (size_t)(before + 1 - data) : 0;
    return cla_fail(CLA_E_INPUT, "%s:%d: not UTF-8 (byte %zu)", path,
                    lines_before + line_of(data, bad_byte), bad_byte - start + 1);
}

static cla_status read_lines(cla_conllu *f)
{
    reader r = { .file = f, .line = f->lines_before };
    const size_t size = f->raw_size;
    CLA_TRY(check_text(f->path, f->lines_before, f->raw, size));
    for (size_t at = 0; at < size;) {
        char *end = memchr(f->cut + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - f->cut) - at : size - at;
        f->cut[at + length] = 0;
        r.line++;
        CLA_TRY(read_line(&r, f->cut + at, length, at));
        at += length + 1;
    }
    CLA_TRY(end_sentence(&r, size));
    return f->sentence_count ? CLA_OK
                             : cla_fail(CLA_E_INPUT, "%s: holds no sentence", f->path);
}

cla_status cla_conllu_parse(cla_conllu *f, const char *path, int lines_before,
                            char *data, size_t size)
{
    *f = (cla_conllu){ .lines_before = lines_before, .raw = data, .raw_size = size };
    cla_status status = cla_strdup(&f->path, path);
    status = status ? status : cla_alloc(&f->cut, size + 1, 1);
    if (!status && data) {
        memcpy(f->cut, data, size);
    }
    status = status ? status : read_lines(f);
    if (status) {
        cla_conllu_free(f);
    }
    return status;
}

cla_status cla_conllu_read(cla_conllu *f, const char *path)
{
    char *data = NULL;
    size_t size = 0;
    *f = (cla_conllu){ 0 };
    CLA_TRY(cla_file_read(path, &data, &size));
    return cla_conllu_parse(f, path, 0, data, size);
}

void cla_conllu_free(cla_conllu *f)
{
    free(f->path);
    free(f->raw);
    free(f->cut);
    free(f->words);
    free(f->sentences);
    *f = (cla_conllu){ 0 };
}

static cla_status add_line_of_words(cla_text *out, const char *line, size_t size)
{
    int id = 0;
    for (size_t at = 0; at < size;) {
        const size_t skip = strspn(line + at, " \t\r");
        at += skip;
        const size_t length = strcspn(line + at, " \t\r\n");
        if (at + length > size || !length) {
            break;
        }
        CLA_TRY(cla_text_add(out, "%d\t%.*s\t_\t_\t_\t_\t_\t_\t_\t_\n", ++id,
                             (int)length, line + at));
        at += length;
    }
    return cla_text_append(out, "\n", 1);
}

cla_status cla_conllu_from_lines(cla_conllu *f, const char *path, int lines_before,
                                 char *data, size_t size)
{
    cla_text rows = { 0 };
    cla_status status = check_text(path, lines_before, data, size);
    *f = (cla_conllu){ 0 };
    for (size_t at = 0; at < size && !status;) {
        const char *end = memchr(data + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - data) - at : size - at;
        status = add_line_of_words(&rows, data + at, length);
        at += length + 1;
    }
    free(data);
    if (status) {
        cla_text_free(&rows);
        return status;
    }
    return cla_conllu_parse(f, path, 0, rows.data, rows.size);
}

/* ---- writing ------------------------------------------------------------------ */

/* Copies a row with column 4 replaced. */
static cla_status write_row(cla_text *out, const char *row, size_t size,
                            const char *tag)
{
    size_t at = 0;
    for (int tabs = 0; at < size && tabs < 3; at++) {
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

cla_status cla_conllu_write(const cla_conllu *f, size_t s, const char *const *tags,
                            cla_text *out)
{
    const cla_sentence *sentence = &f->sentences[s];
    size_t word = 0;
    for (size_t at = sentence->begin; at < sentence->end;) {
        const char *end = memchr(f->raw + at, '\n', sentence->end - at);
        const size_t size = end ? (size_t)(end - f->raw) - at : sentence->end - at;
        if (is_word_row(f->raw + at, size)) {
            CLA_TRY(write_row(out, f->raw + at, size, tags[word++]));
        } else {
            CLA_TRY(cla_text_append(out, f->raw + at, size));
        }
        CLA_TRY(cla_text_append(out, "\n", 1));
        at += size + 1;
    }
    return cla_text_append(out, "\n", 1);
}
