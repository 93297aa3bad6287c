/* conllu.c - reads and writes sentences of Universal Dependencies (CoNLL-U). */
#include "text/conllu.h"

#include <string.h>

#include "base/input.h"

enum { COLUMNS = 10, UPOS = 4, XPOS = 5 };

/* State while a sentence is read. */
typedef struct reader {
    cla_conllu *file;
    int line;
    int last_id;  // of the sentence's words so far
    size_t begin; // of the sentence and of comments before it, in bytes
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
    for (int i = 0; i < COLUMNS; i++) {
        column[i] = row;
    }
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

/* Ends a sentence before the byte `end` of the file; the next one begins at `next`.
 * Comments alone belong to the sentence after them. */
static cla_status end_sentence(reader *r, size_t end, size_t next)
{
    cla_conllu *f = r->file;
    if (f->word_count > r->first_word) {
        CLA_TRY(cla_grow(&f->sentences, &f->sentence_cap, f->sentence_count + 1,
                         sizeof *f->sentences));
        f->sentences[f->sentence_count++] =
            (cla_sentence){ r->first_word, f->word_count - r->first_word, r->begin,
                            end };
        r->begin = next;
    }
    r->last_id = 0;
    r->first_word = f->word_count;
    return CLA_OK;
}

static cla_status read_lines(cla_conllu *f)
{
    const size_t size = f->raw_size;
    cla_scan scan = cla_scan_text(f->path, (size_t)f->lines_before, f->cut, size);
    reader r = { .file = f, .begin = (size_t)(scan.at - f->cut) };
    for (;;) {
        char *line = NULL;
        size_t length = 0;
        const size_t at = (size_t)(scan.at - f->cut);
        CLA_TRY(cla_scan_line(&scan, &line, &length));
        if (!line) {
            break;
        }
        r.line = (int)scan.number;
        if (cla_line_is_blank(line, length)) {
            CLA_TRY(end_sentence(&r, at, (size_t)(scan.at - f->cut)));
        } else if (line[0] != '#') {
            CLA_TRY(read_row(&r, line));
        }
    }
    CLA_TRY(end_sentence(&r, size, size));
    if (!f->sentence_count) {
        return cla_fail(CLA_E_INPUT, "%s: holds no sentence", f->path);
    }
    f->sentences[f->sentence_count - 1].end = size; // with comments behind it
    return CLA_OK;
}

/* Parses the text of f->raw, which f owns. */
static cla_status parse(cla_conllu *f, const char *path)
{
    cla_status status = cla_strdup(&f->path, path);
    status = status ? status : cla_alloc(&f->cut, f->raw_size + 1, 1);
    if (!status && f->raw) {
        memcpy(f->cut, f->raw, f->raw_size);
    }
    status = status ? status : read_lines(f);
    if (status) {
        cla_conllu_free(f);
    }
    return status;
}

cla_status cla_conllu_parse(cla_conllu *f, const char *path, int lines_before,
                            char *data, size_t size)
{
    *f = (cla_conllu){ .lines_before = lines_before, .column = UPOS };
    f->raw = data;
    f->raw_size = size;
    return parse(f, path);
}

cla_status cla_conllu_read(cla_conllu *f, const char *path)
{
    *f = (cla_conllu){ .column = UPOS };
    CLA_TRY(cla_text_read(&f->raw, &f->raw_size, path, CLA_SOURCE_FILE));
    return parse(f, path);
}

/* Columns are cut in place, so a word's XPOS stands behind its UPOS. */
void cla_conllu_use_xpos(cla_conllu *f)
{
    for (size_t i = 0; i < f->word_count && f->column == UPOS; i++) {
        f->words[i].tag += strlen(f->words[i].tag) + 1;
    }
    f->column = XPOS;
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

static cla_status add_line_of_words(cla_text *out, const char *line, bool carriage)
{
    const char *const end = carriage ? "\r\n" : "\n";
    int id = 0;
    for (size_t length; *(line += strspn(line, " \t\r")); line += length) {
        length = strcspn(line, " \t\r");
        CLA_TRY(cla_text_add(out, "%d\t%.*s\t_\t_\t_\t_\t_\t_\t_\t_%s", ++id,
                             (int)length, line, end));
    }
    return cla_text_append(out, end, strlen(end));
}

static cla_status add_lines_of_words(cla_text *rows, cla_scan *scan)
{
    for (bool before = false;; before = scan->carriage) {
        char *line = NULL;
        size_t size = 0;
        CLA_TRY(cla_scan_line(scan, &line, &size));
        if (!line) {
            return CLA_OK;
        }
        // the last line, without an end, gets that of the line before
        CLA_TRY(add_line_of_words(rows, line, scan->ended ? scan->carriage : before));
    }
}

cla_status cla_conllu_from_lines(cla_conllu *f, const char *path, int lines_before,
                                 char *data, size_t size)
{
    cla_text rows = { 0 };
    cla_scan scan = cla_scan_text(path, (size_t)lines_before, data, size);
    const cla_status status = add_lines_of_words(&rows, &scan);
    *f = (cla_conllu){ 0 };
    free(data);
    if (status) {
        cla_text_free(&rows);
        return status;
    }
    return cla_conllu_parse(f, path, 0, rows.data, rows.size);
}

/* ---- the format of a text ------------------------------------------------------- */

/* Returns whether size bytes of text are an id: 7, 3-4, 5.1. */
static bool is_id(const char *text, size_t size)
{
    const char *at = text;
    int number = 0;
    if (!read_number(&at, &number)) {
        return false;
    }
    if (at < text + size && (*at == '-' || *at == '.')) {
        at++;
        if (!read_number(&at, &number)) {
            return false;
        }
    }
    return at == text + size;
}

/* Returns whether an id can be that of a sentence's first row: 1, 1-2, 0.1. */
static bool is_first_id(const char *text, size_t size)
{
    return is_id(text, size) && (size == 1 || text[1] < '0' || text[1] > '9') &&
           (*text == '1' || (*text == '0' && size > 1 && text[1] == '.'));
}

cla_conllu_form cla_conllu_guess(const char *line)
{
    int columns = 0;
    bool bare = false; // a column is "_"
    const char *at = line;
    for (bool more = true; more; columns++) {
        const size_t width = strcspn(at, "\t");
        bare = bare || (width == 1 && *at == '_');
        more = at[width] == '\t';
        at += width + 1;
    }
    const size_t size = strcspn(line, "\t");
    if (columns == COLUMNS && is_id(line, size)) {
        return CLA_FORM_CONLLU;
    }
    const bool broken =
        columns == COLUMNS ? bare : columns > 2 && is_first_id(line, size);
    return broken ? CLA_FORM_NEITHER : CLA_FORM_WORDS;
}

/* ---- writing ------------------------------------------------------------------ */

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

cla_status cla_conllu_write(const cla_conllu *f, size_t s, const char *const *tags,
                            cla_text *out)
{
    const cla_sentence *sentence = &f->sentences[s];
    writer w = { .out = out };
    return write_lines(&w, f->raw + sentence->begin, sentence->end - sentence->begin,
                       tags, f->column);
}

cla_status cla_conllu_write_comments(const char *text, size_t size, cla_text *out)
{
    writer w = { .out = out };
    return write_lines(&w, text, size, NULL, 0);
}
