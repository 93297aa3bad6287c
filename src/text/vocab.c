/* vocab.c - vocabularies: maps tokens to ids and back. */
#include "text/vocab.h"

#include <string.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/input.h"

const char *const cla_special_names[CLA_SPECIALS] = { "<pad>", "</s>", "<unk>" };

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
    for (size_t i = 0; i < v->count; i++) {
        v->slots[find_slot(v, v->tokens[i])] = (uint32_t)i + 1;
    }
    return CLA_OK;
}

cla_status cla_vocab_add(cla_vocab *v, const char *token, int64_t count, int *id)
{
    if (2 * (v->count + 1) > v->slot_count) {
        CLA_TRY(rebuild_slots(v, v->slot_count ? 2 * v->slot_count : 64));
    }
    const size_t slot = find_slot(v, token);
    if (!v->slots[slot]) {
        CLA_TRY(cla_grow(&v->tokens, &v->cap, v->count + 1, sizeof *v->tokens));
        CLA_TRY(cla_grow(&v->counts, &v->count_cap, v->count + 1, sizeof *v->counts));
        CLA_TRY(cla_strdup(&v->tokens[v->count], token));
        v->counts[v->count] = 0;
        v->slots[slot] = (uint32_t)++v->count;
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
        CLA_TRY(cla_vocab_add(v, cla_special_names[i], 0, NULL));
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
    return id < CLA_SPECIALS ? CLA_UNK : id;
}

cla_status cla_vocab_text(const cla_vocab *v, cla_text *text)
{
    CLA_TRY(cla_text_append(text, "", 0));
    for (size_t i = 0; i < v->count; i++) {
        CLA_TRY(cla_text_append(text, v->tokens[i], strlen(v->tokens[i])));
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

/* Adds each line as a token. Where the first line, a special token, ends in LF alone, a
 * CR before a line end belongs to the token. */
static cla_status load_lines(cla_vocab *v, cla_scan *scan)
{
    bool carriage = false;
    for (;;) {
        char *token = NULL;
        size_t size = 0;
        CLA_TRY(cla_scan_line(scan, &token, &size));
        if (!token) {
            return CLA_OK;
        }
        carriage = carriage || (scan->number == 1 && scan->carriage);
        if (scan->carriage && !carriage) {
            token[size] = '\r';
            token[size + 1] = 0;
        }
        const size_t before = v->count;
        CLA_TRY(cla_vocab_add(v, token, 0, NULL));
        if (v->count == before) {
            return cla_fail(CLA_E_INPUT, "%s:%zu: duplicate token '%s'", scan->path,
                            scan->number, token);
        }
    }
}

cla_status cla_vocab_load(cla_vocab *v, const char *path)
{
    cla_scan scan = { 0 };
    *v = (cla_vocab){ 0 };
    CLA_TRY(cla_scan_file(&scan, path, CLA_SOURCE_FILE));
    const cla_status status = load_lines(v, &scan);
    free(scan.data);
    if (status) {
        cla_vocab_free(v);
    }
    return status;
}
