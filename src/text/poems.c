/* poems.c - reads quatrains; their characters, and words of two characters. */
#include "text/poems.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "text/lines.h"

enum { COLUMNS = 4 };

void cla_poems_free(cla_poems *p)
{
    cla_text_free(&p->bytes);
    free(p->poem);
    *p = (cla_poems){ 0 };
}

const char *cla_poems_string(const cla_poems *p, size_t at)
{
    return p->bytes.data + at;
}

/* State while a file is read. */
typedef struct reader {
    cla_poems *poems;
    const char *path;
    size_t line;
    bool strict;
    char *text[CLA_POEM_LINES];    // lines of the poem
    char *keyword[CLA_POEM_LINES]; // their keywords; NULL: none
    cla_text kept;                 // rows of an incomplete poem
    int rows;
} reader;

static cla_status bad(const reader *r, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s:%zu: %s", r->path, r->line, what);
}

/* Cuts text at mark into at most n parts; returns their number, n + 1 for more. */
static int cut(char *text, char mark, char **part, int n)
{
    int found = 0;
    for (char *at = text; at && found <= n; found++) {
        char *end = strchr(at, mark);
        if (found < n) {
            part[found] = at;
        }
        if (end) {
            *end++ = 0;
        }
        at = end;
    }
    return found;
}

/* Returns the number of ideographs of a line; -1 if it has any other character. */
static int ideographs(const char *line)
{
    int n = 0;
    for (int32_t code = 0; *line; n++) {
        line += cla_utf8_next(line, &code);
        if (cla_utf8_kind_of(code) != CLA_UTF8_IDEOGRAPH || !cla_utf8_is_letter(code)) {
            return -1;
        }
    }
    return n;
}

/* Returns whether the lines are four of 5 or of 7 characters. */
static bool is_quatrain(const reader *r, int lines)
{
    const int length = lines == CLA_POEM_LINES ? ideographs(r->text[0]) : 0;
    for (int i = 1; i < lines && i < CLA_POEM_LINES; i++) {
        if (ideographs(r->text[i]) != length) {
            return false;
        }
    }
    return length == 5 || length == CLA_POEM_LONGEST;
}

static cla_status keep(cla_poems *p, const char *text, size_t *at)
{
    *at = p->bytes.size;
    return cla_text_append(&p->bytes, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Adds the poem, whose head is NULL or dynasty, author, title. */
static cla_status add_poem(reader *r, char *const *head)
{
    cla_poems *p = r->poems;
    cla_poem poem = { .length = ideographs(r->text[0]) };
    CLA_TRY(keep(p, head ? head[0] : NULL, &poem.dynasty));
    CLA_TRY(keep(p, head ? head[1] : NULL, &poem.author));
    CLA_TRY(keep(p, head ? head[2] : NULL, &poem.title));
    for (int i = 0; i < CLA_POEM_LINES; i++) {
        CLA_TRY(keep(p, r->text[i], &poem.line[i]));
        CLA_TRY(keep(p, r->keyword[i], &poem.keyword[i]));
    }
    CLA_TRY(cla_grow(&p->poem, &p->cap, p->count + 1, sizeof *p->poem));
    p->poem[p->count++] = poem;
    return CLA_OK;
}

static cla_status pass_over(const reader *r, const char *what)
{
    r->poems->passed_over++;
    return r->strict ? bad(r, what) : CLA_OK;
}

static cla_status read_poem(void *to, size_t number, char *text, size_t size)
{
    reader *r = to;
    char *column[COLUMNS];
    (void)size;
    r->line = number;
    const int columns = cut(text, '\t', column, COLUMNS);
    if (columns != COLUMNS) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: %s%d columns, must be %d", r->path,
                        number, columns > COLUMNS ? "more than " : "",
                        columns > COLUMNS ? COLUMNS : columns, COLUMNS);
    }
    const int lines = cut(column[3], '|', r->text, CLA_POEM_LINES);
    return is_quatrain(r, lines)
               ? add_poem(r, column)
               : pass_over(r, "not four lines of 5 or of 7 characters");
}

/* Adds the poem of the four rows in r->kept, or skips it. */
static cla_status end_rows(reader *r)
{
    bool stand = true;
    char *at = r->kept.data;
    for (int i = 0; i < CLA_POEM_LINES; i++) {
        r->text[i] = at;
        r->keyword[i] = at + strlen(at) + 1;
        at = r->keyword[i] + strlen(r->keyword[i]) + 1;
        stand = stand && *r->keyword[i] && strstr(r->text[i], r->keyword[i]);
    }
    r->kept.size = 0;
    r->rows = 0;
    if (!is_quatrain(r, CLA_POEM_LINES)) {
        return pass_over(r, "the poem that ends here is not four lines of 5 or of 7 "
                            "characters");
    }
    return stand ? add_poem(r, NULL)
                 : pass_over(r, "a keyword of the poem that ends here is not in "
                                "its line");
}

static cla_status read_row(void *to, size_t number, char *text, size_t size)
{
    reader *r = to;
    char *column[2];
    (void)size;
    r->line = number;
    if (cut(text, '\t', column, 2) != 2) {
        return bad(r, "must be a line, a tab and a keyword");
    }
    CLA_TRY(cla_text_append(&r->kept, column[0], strlen(column[0]) + 1));
    CLA_TRY(cla_text_append(&r->kept, column[1], strlen(column[1]) + 1));
    return ++r->rows < CLA_POEM_LINES ? CLA_OK : end_rows(r);
}

static cla_status read_file(cla_poems *p, const char *path, bool strict,
                            cla_take_line *take)
{
    reader r = { .poems = p, .path = path, .strict = strict };
    *p = (cla_poems){ 0 };
    cla_status status = cla_lines_filled(path, take, &r);
    if (!status && r.rows) {
        status = bad(&r, "the file ends within a poem");
    }
    if (!status && !p->count) {
        status = cla_fail(CLA_E_INPUT, "%s: holds no poem", path);
    }
    cla_text_free(&r.kept);
    if (status) {
        cla_poems_free(p);
    }
    return status;
}

cla_status cla_poems_read(cla_poems *p, const char *path, bool strict)
{
    return read_file(p, path, strict, read_poem);
}

cla_status cla_poems_read_keywords(cla_poems *p, const char *path, bool strict)
{
    return read_file(p, path, strict, read_row);
}

/* ---- characters -------------------------------------------------------------- */

/* Copies the first character of text, which is not empty; returns what follows it. */
static const char *next_character(const char *text, char out[5])
{
    int32_t code = 0;
    const int bytes = cla_utf8_next(text, &code);
    memcpy(out, text, (size_t)bytes);
    out[bytes] = 0;
    return text + bytes;
}

static cla_status count_characters(const char *line, cla_vocab *counts)
{
    char character[5];
    while (*line) {
        line = next_character(line, character);
        CLA_TRY(cla_vocab_add(counts, character, 1, NULL));
    }
    return CLA_OK;
}

cla_status cla_poems_vocab(const cla_poems *p, size_t limit, cla_vocab *vocab)
{
    cla_vocab counts = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < p->count && !status; i++) {
        for (int k = 0; k < CLA_POEM_LINES && !status; k++) {
            status = count_characters(cla_poems_string(p, p->poem[i].line[k]), &counts);
        }
    }
    status = status ? status : cla_vocab_take(vocab, &counts, 1, limit);
    cla_vocab_free(&counts);
    return status;
}

/* Counts the pairs of adjacent characters of a line without a rest between them. */
static cla_status count_pairs(const char *line, int32_t length, cla_vocab *pairs)
{
    char one[5], two[5], pair[9];
    const char *next = next_character(line, one);
    for (int32_t i = 1; i < length; i++) {
        next = next_character(next, two);
        const bool rest = i == 2 || (i == 4 && length == CLA_POEM_LONGEST);
        snprintf(pair, sizeof pair, "%s%s", one, two);
        CLA_TRY(rest ? CLA_OK : cla_vocab_add(pairs, pair, 1, NULL));
        memcpy(one, two, sizeof one);
    }
    return CLA_OK;
}

/* Returns n(ab) N / (n(a) n(b)) of pair i. */
static double ratio_of(const cla_vocab *pairs, size_t i, const cla_vocab *characters,
                       int64_t all)
{
    char one[5], two[5];
    next_character(next_character(pairs->tokens[i], one), two);
    const int a = cla_vocab_find(characters, one), b = cla_vocab_find(characters, two);
    return (double)pairs->counts[i] * (double)all /
           ((double)characters->counts[a] * (double)characters->counts[b]);
}

static cla_status count_lines(const cla_poems *p, cla_vocab *characters,
                              cla_vocab *pairs, int64_t *all)
{
    for (size_t i = 0; i < p->count; i++) {
        const cla_poem *poem = &p->poem[i];
        for (int k = 0; k < CLA_POEM_LINES; k++) {
            const char *line = cla_poems_string(p, poem->line[k]);
            CLA_TRY(count_characters(line, characters));
            CLA_TRY(count_pairs(line, poem->length, pairs));
        }
        *all += (int64_t)CLA_POEM_LINES * poem->length;
    }
    return cla_vocab_keep_frequent(pairs, pairs->count);
}

static cla_status keep_words(const cla_vocab *pairs, const cla_vocab *characters,
                             int64_t all, int64_t min_count, double ratio,
                             cla_lexicon *words)
{
    for (size_t i = 0; i < pairs->count && pairs->counts[i] >= min_count; i++) {
        if (ratio_of(pairs, i, characters, all) >= ratio) {
            CLA_TRY(cla_lexicon_add(words, pairs->tokens[i]));
        }
    }
    return words->words.count ? CLA_OK
                              : cla_fail(CLA_E_INPUT,
                                         "poems: no pair of characters occurs %lld "
                                         "times and %g times as often as by chance",
                                         (long long)min_count, ratio);
}

cla_status cla_poems_words(const cla_poems *p, int64_t min_count, double ratio,
                           cla_lexicon *words)
{
    cla_vocab characters = { 0 }, pairs = { 0 };
    int64_t all = 0;
    *words = (cla_lexicon){ 0 };
    if (!p->count) {
        return cla_fail(CLA_E_INPUT, "poems: no poem to learn words from");
    }
    cla_status status = count_lines(p, &characters, &pairs, &all);
    status =
        status ? status : keep_words(&pairs, &characters, all, min_count, ratio, words);
    cla_vocab_free(&characters);
    cla_vocab_free(&pairs);
    if (status) {
        cla_lexicon_free(words);
    }
    return status;
}

size_t cla_poems_ids(const char *text, const cla_vocab *vocab, int32_t *ids, size_t n)
{
    char character[5];
    size_t count = 0;
    while (*text && count < n) {
        text = next_character(text, character);
        ids[count++] = cla_vocab_number(vocab, character);
    }
    return count;
}
