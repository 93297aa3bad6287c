/* conllu.c - reads sentences of Universal Dependencies (CoNLL-U). */
#include "text/conllu.h"

#include <string.h>

#include "base/input.h"

enum { COLUMNS = 10 };

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

static cla_status add_word(cla_conllu *f, cla_word word)
{
    CLA_TRY(cla_grow(&f->words, &f->word_cap, f->word_count + 1, sizeof *f->words));
    f->words[f->word_count++] = word;
    return CLA_OK;
}

static cla_status add_sentence(cla_conllu *f, cla_sentence sentence)
{
    CLA_TRY(cla_grow(&f->sentences, &f->sentence_cap, f->sentence_count + 1,
                     sizeof *f->sentences));
    f->sentences[f->sentence_count++] = sentence;
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
    return add_word(r->file, (cla_word){ column[1], column[3], r->line });
}

/* Ends a sentence before the byte `end` of the file; the next one begins at `next`.
 * Comments alone belong to the sentence after them. */
static cla_status end_sentence(reader *r, size_t end, size_t next)
{
    cla_conllu *f = r->file;
    if (f->word_count > r->first_word) {
        const size_t first = r->first_word;
        CLA_TRY(add_sentence(f, (cla_sentence){ .first = first,
                                                .count = f->word_count - first,
                                                .begin = r->begin,
                                                .end = end }));
        r->begin = next;
    }
    r->last_id = 0;
    r->first_word = f->word_count;
    return CLA_OK;
}

static cla_status need_sentence(const cla_conllu *f)
{
    return f->sentence_count ? CLA_OK
                             : cla_fail(CLA_E_INPUT, "%s: holds no sentence", f->path);
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
    CLA_TRY(need_sentence(f));
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
    *f = (cla_conllu){ .lines_before = lines_before, .column = CLA_UPOS };
    f->raw = data;
    f->raw_size = size;
    return parse(f, path);
}

cla_status cla_conllu_read(cla_conllu *f, const char *path)
{
    *f = (cla_conllu){ .column = CLA_UPOS };
    CLA_TRY(cla_text_read(&f->raw, &f->raw_size, path, CLA_SOURCE_FILE));
    return parse(f, path);
}

/* Columns are cut in place, so a word's XPOS stands behind its UPOS. Words alone have
 * neither. */
void cla_conllu_use_xpos(cla_conllu *f)
{
    for (size_t i = 0; f->raw && i < f->word_count && f->column == CLA_UPOS; i++) {
        f->words[i].tag += strlen(f->words[i].tag) + 1;
    }
    f->column = CLA_XPOS;
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

/* ---- words alone ------------------------------------------------------------- */

#define BLANKS " \t\r"

static cla_status add_line_of_words(cla_conllu *f, char *line, int number,
                                    bool carriage)
{
    const size_t first = f->word_count;
    for (char *at = line + strspn(line, BLANKS), *next = at; *at; at = next) {
        next += strcspn(at, BLANKS);
        char *end = next;
        next += strspn(next, BLANKS);
        *end = 0;
        CLA_TRY(add_word(f, (cla_word){ at, CLA_NO_TAG, number }));
    }
    const size_t count = f->word_count - first;
    const cla_sentence s = { .first = first, .count = count, .carriage = carriage };
    return count ? add_sentence(f, s) : CLA_OK;
}

static cla_status add_lines_of_words(cla_conllu *f, cla_scan *scan)
{
    for (bool before = false;; before = scan->carriage) {
        char *line = NULL;
        size_t size = 0;
        CLA_TRY(cla_scan_line(scan, &line, &size));
        if (!line) {
            return need_sentence(f);
        }
        // the last line, without an end, gets that of the line before
        CLA_TRY(add_line_of_words(f, line, (int)scan->number,
                                  scan->ended ? scan->carriage : before));
    }
}

cla_status cla_conllu_from_lines(cla_conllu *f, const char *path, int lines_before,
                                 char *data, size_t size)
{
    cla_scan scan = cla_scan_text(path, (size_t)lines_before, data, size);
    *f = (cla_conllu){ .column = CLA_UPOS, .cut = data };
    cla_status status = cla_strdup(&f->path, path);
    status = status ? status : add_lines_of_words(f, &scan);
    if (status) {
        cla_conllu_free(f);
    }
    return status;
}

static cla_status add_words(cla_conllu *f, const char *const *words, size_t count)
{
    const cla_sentence sentence = { .first = f->word_count, .count = count };
    for (size_t i = 0; i < count; i++) {
        CLA_TRY(add_word(f, (cla_word){ words[i], CLA_NO_TAG, 0 }));
    }
    return add_sentence(f, sentence);
}

cla_status cla_conllu_from_words(cla_conllu *f, const char *const *words,
                                 const size_t *length, size_t sentences)
{
    cla_status status = CLA_OK;
    *f = (cla_conllu){ .column = CLA_UPOS };
    for (size_t i = 0; i < sentences && !status; i++) {
        status = add_words(f, words + f->word_count, length[i]);
    }
    if (status) {
        cla_conllu_free(f);
    }
    return status;
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
