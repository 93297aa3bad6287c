/* tokenized.c - pieces of a tokenizer that another program made. */
#include <string.h>

#include "base/file.h"
#include "tasks/language/language.h"

static cla_status no_piece(const char *path, const char *name)
{
    return cla_fail(CLA_E_INPUT, "%s: has no piece '%.80s', the end_token", path, name);
}

/* Finds the pieces around documents: that in front of a text, and that which the
 * settings name; one of them stands for both. */
static cla_status find_ends(language *t, const char *path)
{
    const char *name = t->end_token;
    t->start = t->tokenizer.start;
    t->end = *name ? cla_codec_find(&t->tokenizer, name) : t->start;
    t->start = t->start >= 0 ? t->start : t->end;
    if (*name && t->end < 0) {
        return no_piece(path, name);
    }
    for (int i = 0; i < t->stops; i++) {
        t->stop_id[i] = cla_codec_find(&t->tokenizer, t->stop[i]);
        CLA_TRY(t->stop_id[i] < 0 ? no_piece(path, t->stop[i]) : CLA_OK);
    }
    if (t->documents && t->end < 0) {
        return cla_fail(CLA_E_INPUT,
                        "%s: no piece ends a document: name one as end_token", path);
    }
    return t->rows && (size_t)t->rows < t->tokenizer.vocab.count
               ? cla_fail(CLA_E_INPUT, "%s: has %zu pieces, vocabulary is %d", path,
                          t->tokenizer.vocab.count, t->rows)
               : CLA_OK;
}

bool cla_language_stops(const language *t, int32_t id)
{
    bool any = id == t->end;
    for (int i = 0; i < t->stops; i++) {
        any = any || id == t->stop_id[i];
    }
    return any;
}

cla_status cla_language_use_tokenizer(language *t, const char *path, const char *json,
                                      size_t size)
{
    cla_text *kept = &t->subwords.codes; // what decides about the numbers
    kept->size = 0;
    CLA_TRY(cla_text_append(kept, json, size));
    CLA_TRY(cla_codec_parse(&t->tokenizer, path, kept->data, kept->size));
    return find_ends(t, path);
}

cla_status cla_language_read_tokenizer(language *t, const char *path)
{
    char *bytes = NULL;
    size_t size = 0;
    cla_text json = { 0 };
    CLA_TRY(cla_file_read(path, &bytes, &size));
    cla_status status = cla_ends_in(path, ".model")
                            ? cla_codec_convert(&json, path, bytes, size)
                            : cla_text_append(&json, bytes, size);
    status =
        status ? status : cla_language_use_tokenizer(t, path, json.data, json.size);
    cla_text_free(&json);
    free(bytes);
    return status;
}

static cla_status put(cla_ids *ids, int32_t id)
{
    if (id < 0) {
        return CLA_OK;
    }
    CLA_TRY(cla_grow(&ids->id, &ids->cap, ids->count + 1, sizeof id));
    ids->id[ids->count++] = id;
    return CLA_OK;
}

/* A NUL at the start begins a document, one at the end ends it, others do both. */
cla_status cla_language_tokenize(const language *t, const char *text, size_t size,
                                 cla_ids *ids)
{
    for (size_t at = 0; at < size;) {
        const char *bound = memchr(text + at, 0, size - at);
        const size_t end = bound ? (size_t)(bound - text) : size;
        CLA_TRY(cla_codec_encode(&t->tokenizer, text + at, end - at, ids));
        const bool first = end == 0, last = end + 1 >= size && !first;
        const bool same = t->end == t->start;
        if (bound) {
            CLA_TRY(put(ids, first ? -1 : t->end));
            CLA_TRY(put(ids, last || (same && !first) ? -1 : t->start));
        }
        at = end + 1;
    }
    return CLA_OK;
}
