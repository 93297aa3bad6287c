/* vocab.c - vocabularies: maps tokens to ids and back. */
#include "text/vocab.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/input.h"

const char *const cla_special_names[CLA_SPECIALS] = { "<pad>", "</s>", "<unk>" };

bool cla_is_special_name(const char *token)
{
    for (int i = 0; i < CLA_SPECIALS; i++) {
        if (strcmp(token, cla_special_names[i]) == 0) {
            return true;
        }
    }
    return false;
}

void cla_vocab_free(cla_vocab *vocab)
{
    for (size_t i = 0; i < vocab->count; i++) {
        free(vocab->tokens[i]);
    }
    free(vocab->tokens);
    free(vocab->counts);
    free(vocab->slots);
    *vocab = (cla_vocab){ 0 };
}

/* Returns the slot where token is or would go. */
static size_t find_slot(const cla_vocab *v, const char *token)
{
    size_t at = XXH3_64bits(token, strlen(token)) & (v->slot_count - 1);
    while (v->slots[at] && strcmp(v->tokens[v->slots[at] - 1], token) != 0) {
        at = (at + 1) & (v->slot_count - 1);
    }
    return at;
}

static cla_status rebuild_slots(cla_vocab *v, size_t slot_count)
{
    uint32_t *slots = NULL;
    CLA_TRY(cla_alloc(&slots, slot_count, sizeof *slots));
    free(v->slots);
    v->slots = slots;
    v->slot_count = slot_count;
    for (size_t i = v->specials; i < v->count; i++) {
        v->slots[find_slot(v, v->tokens[i])] = (uint32_t)i + 1;
    }
    return CLA_OK;
}

static cla_status append(cla_vocab *v, const char *token)
{
    CLA_TRY(cla_grow(&v->tokens, &v->cap, v->count + 1, sizeof *v->tokens));
    CLA_TRY(cla_grow(&v->counts, &v->count_cap, v->count + 1, sizeof *v->counts));
    CLA_TRY(cla_strdup(&v->tokens[v->count], token));
    v->counts[v->count++] = 0;
    return CLA_OK;
}

cla_status cla_vocab_reserve(cla_vocab *v, const char *token)
{
    assert(v->count == v->specials); // before all others
    CLA_TRY(append(v, token));
    v->specials++;
    return CLA_OK;
}

cla_status cla_vocab_add(cla_vocab *v, const char *token, int64_t count, int *id)
{
    if (2 * (v->count + 1) > v->slot_count) {
        CLA_TRY(rebuild_slots(v, v->slot_count ? 2 * v->slot_count : 64));
    }
    const size_t slot = find_slot(v, token);
    if (!v->slots[slot]) {
        CLA_TRY(append(v, token));
        v->slots[slot] = (uint32_t)v->count;
    }
    const int position = (int)v->slots[slot] - 1;
    v->counts[position] += count;
    if (id) {
        *id = position;
    }
    return CLA_OK;
}

int cla_vocab_find(const cla_vocab *v, const char *token)
{
    return v->slot_count ? (int)v->slots[find_slot(v, token)] - 1 : -1;
}

typedef struct entry {
    char *token;
    int64_t count;
    size_t position;
} entry;

static int frequent_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->count != y->count) {
        return x->count < y->count ? 1 : -1;
    }
    return (x->position > y->position) - (x->position < y->position);
}

cla_status cla_vocab_keep_frequent(cla_vocab *v, size_t keep)
{
    entry *entries = NULL;
    CLA_TRY(cla_alloc(&entries, v->count + 1, sizeof *entries));
    for (size_t i = 0; i < v->count; i++) {
        entries[i] = (entry){ v->tokens[i], v->counts[i], i };
    }
    qsort(entries, v->count, sizeof *entries, frequent_first);
    for (size_t i = 0; i < v->count; i++) {
        v->tokens[i] = entries[i].token;
        v->counts[i] = entries[i].count;
    }
    free(entries);
    while (v->count > keep) {
        free(v->tokens[--v->count]);
    }
    return rebuild_slots(v, v->slot_count ? v->slot_count : 64);
}

cla_status cla_vocab_take(cla_vocab *v, cla_vocab *counts, int64_t min_count,
                          size_t limit)
{
    CLA_TRY(cla_vocab_keep_frequent(counts, counts->count));
    for (int i = 0; i < CLA_SPECIALS; i++) {
        CLA_TRY(cla_vocab_reserve(v, cla_special_names[i]));
    }
    for (size_t i = 0; i < counts->count && counts->counts[i] >= min_count; i++) {
        if (limit && v->count >= limit) {
            break;
        }
        CLA_TRY(cla_vocab_add(v, counts->tokens[i], counts->counts[i], NULL));
    }
    return CLA_OK;
}

int cla_vocab_number(const cla_vocab *v, const char *token)
{
    const int id = cla_vocab_find(v, token);
    return id < 0 ? CLA_UNK : id;
}

bool cla_vocab_spells(const cla_vocab *v, const char *token)
{
    for (size_t i = 0; i < v->specials; i++) {
        if (strcmp(v->tokens[i], token) == 0) {
            return true;
        }
    }
    return cla_vocab_find(v, token) >= 0;
}

/* Looks for a longer added token than *best among the n tokens before `last`. */
static void match_added(const cla_vocab *v, size_t last, size_t n, const char *text,
                        size_t size, size_t *best, int *id)
{
    for (size_t i = last - n; i < last; i++) {
        const size_t bytes = strlen(v->tokens[i]);
        if (bytes > *best && bytes <= size && memcmp(text, v->tokens[i], bytes) == 0) {
            *best = bytes;
            *id = (int)i;
        }
    }
}

size_t cla_vocab_added(const cla_vocab *v, const char *text, size_t size, int *id)
{
    size_t best = 0;
    match_added(v, v->specials, v->added_specials, text, size, &best, id);
    match_added(v, v->count, v->added, text, size, &best, id);
    return best;
}

/* ---- files ------------------------------------------------------------------- */

/* The first line of a file with escapes, before three numbers: special tokens, and the
 * added ones among them and among the others. */
#define ESCAPED "#clattn vocabulary with escapes: special "

/* Returns whether a line for each token as it is would be read as something else. */
static bool needs_escapes(const cla_vocab *v)
{
    for (size_t i = 0; i < v->count; i++) {
        const char *token = v->tokens[i];
        if (token[strcspn(token, "\n\r")] || (i < v->specials && !*token)) {
            return true;
        }
    }
    const char *first = v->count ? v->tokens[0] : "";
    return v->added || v->added_specials || cla_mark_size(first, strlen(first)) ||
           strncmp(first, ESCAPED, sizeof ESCAPED - 1) == 0;
}

static cla_status add_escaped(cla_text *text, const char *token)
{
    for (const char *at = token; *at; at++) {
        const char *escape = *at == '\\'   ? "\\\\"
                             : *at == '\n' ? "\\n"
                             : *at == '\r' ? "\\r"
                                           : NULL;
        CLA_TRY(cla_text_append(text, escape ? escape : at, escape ? 2 : 1));
    }
    return CLA_OK;
}

/* Replaces escapes. Returns false if there is one of another kind. */
static bool unescape(char *token)
{
    char *to = token;
    for (const char *at = token; *at; at++) {
        const char next = *at == '\\' ? *++at : 0;
        if (next && !strchr("\\nr", next)) {
            return false;
        }
        if (!next && !*at) {
            return false; // a lone backslash at the end
        }
        *to++ = next == 'n' ? '\n' : next == 'r' ? '\r' : *at;
    }
    *to = 0;
    return true;
}

cla_status cla_vocab_text(const cla_vocab *v, cla_text *text)
{
    const bool escapes = needs_escapes(v);
    CLA_TRY(escapes ? cla_text_add(text, ESCAPED "%zu, added %zu and %zu\n",
                                   v->specials, v->added_specials, v->added)
                    : cla_text_append(text, "", 0));
    for (size_t i = 0; i < v->count; i++) {
        const char *token = v->tokens[i];
        CLA_TRY(escapes ? add_escaped(text, token)
                        : cla_text_append(text, token, strlen(token)));
        CLA_TRY(cla_text_append(text, "\n", 1));
    }
    return CLA_OK;
}

cla_status cla_vocab_save(const cla_vocab *v, const char *path)
{
    cla_text text = { 0 };
    cla_status status = cla_vocab_text(v, &text);
    status =
        status ? status : cla_file_write(path, text.data ? text.data : "", text.size);
    cla_text_free(&text);
    return status;
}

/* A file of tokens being read. */
typedef struct lines {
    cla_scan scan;
    size_t specials; // tokens at the start that no text reaches
    size_t added_specials, added;
    bool carriage; // its lines end in CR LF
    bool escaped;
} lines;

static cla_status add_line(cla_vocab *v, const lines *l, const char *token)
{
    const size_t before = v->count;
    CLA_TRY(before < l->specials ? cla_vocab_reserve(v, token)
                                 : cla_vocab_add(v, token, 0, NULL));
    return v->count > before ? CLA_OK
                             : cla_fail(CLA_E_INPUT, "%s:%zu: duplicate token '%s'",
                                        l->scan.path, l->scan.number, token);
}

/* Reads the first line of a file with escapes. Returns false if it is another line. */
static bool read_head(lines *l, const char *line)
{
    static const char *const before[] = { ESCAPED, ", added ", " and " };
    size_t *const to[] = { &l->specials, &l->added_specials, &l->added };
    for (int i = 0; i < 3; i++) {
        const size_t size = strlen(before[i]);
        if (strncmp(line, before[i], size) != 0) {
            return false;
        }
        char *end = NULL;
        *to[i] = strtoul(line + size, &end, 10);
        line = end;
    }
    return true;
}

static cla_status take_line(cla_vocab *v, lines *l, char *line, size_t size)
{
    const bool first = l->scan.number == 1;
    l->carriage = l->carriage || (first && l->scan.carriage);
    if (first && read_head(l, line)) {
        l->escaped = true;
        return CLA_OK;
    }
    if (l->scan.carriage && !l->carriage) {
        line[size] = '\r';
        line[size + 1] = 0;
    }
    return l->escaped && !unescape(line)
               ? cla_fail(CLA_E_INPUT,
                          "%s:%zu: a backslash before another character "
                          "than n, r or a backslash",
                          l->scan.path, l->scan.number)
               : add_line(v, l, line);
}

/* Adds each line as a token. Where the first line, a special token, ends in LF alone, a
 * CR before a line end belongs to the token. */
static cla_status load_lines(cla_vocab *v, lines *l)
{
    for (;;) {
        char *line = NULL;
        size_t size = 0;
        CLA_TRY(cla_scan_line(&l->scan, &line, &size));
        if (!line) {
            break;
        }
        CLA_TRY(take_line(v, l, line, size));
    }
    v->added_specials = l->added_specials;
    v->added = l->added;
    return v->added_specials <= v->specials && v->added <= v->count - v->specials
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s:1: says more added tokens than there are",
                          l->scan.path);
}

static cla_status load(cla_vocab *v, lines *l)
{
    const cla_status status = load_lines(v, l);
    if (status) {
        cla_vocab_free(v);
    }
    return status;
}

cla_status cla_vocab_load(cla_vocab *v, const char *path, size_t specials)
{
    lines l = { .specials = specials };
    *v = (cla_vocab){ 0 };
    CLA_TRY(cla_scan_file(&l.scan, path, CLA_SOURCE_FILE));
    const cla_status status = load(v, &l);
    free(l.scan.data);
    return status;
}

cla_status cla_vocab_parse(cla_vocab *v, const char *path, const char *text,
                           size_t size, size_t specials)
{
    cla_text copy = { 0 }; // scanning changes it
    *v = (cla_vocab){ 0 };
    CLA_TRY(cla_text_append(&copy, text, size));
    lines l = { .scan = cla_scan_text(path, 0, copy.data, copy.size),
                .specials = specials };
    const cla_status status = load(v, &l);
    cla_text_free(&copy);
    return status;
}
