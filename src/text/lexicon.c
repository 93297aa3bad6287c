/* lexicon.c - a list of words; cuts text by its longest words. */
#include "text/lexicon.h"

#include <string.h>

#include "base/utf8.h"
#include "text/lines.h"

enum { MAX_BYTES = 256 };

void cla_lexicon_free(cla_lexicon *l)
{
    cla_vocab_free(&l->words);
    *l = (cla_lexicon){ 0 };
}

cla_status cla_lexicon_add(cla_lexicon *l, const char *word)
{
    const size_t size = strlen(word);
    const int32_t letters = cla_utf8_count(word, size);
    if (size > MAX_BYTES) {
        return cla_fail(CLA_E_INPUT, "'%.20s...' is too long for a word", word);
    }
    l->longest = letters > l->longest ? letters : l->longest;
    return cla_vocab_add(&l->words, word, 1, NULL);
}

/* State while a list is read. */
typedef struct reader {
    cla_lexicon *lexicon;
    const char *path;
} reader;

static cla_status add_line(void *to, size_t number, char *text, size_t size)
{
    const reader *r = to;
    const size_t lead = strspn(text, " \t");
    while (size > lead && strchr(" \t", text[size - 1])) {
        text[--size] = 0;
    }
    const cla_status status =
        size > lead ? cla_lexicon_add(r->lexicon, text + lead) : CLA_OK;
    return status ? cla_fail_within(status, "%s:%zu", r->path, number) : CLA_OK;
}

cla_status cla_lexicon_read(cla_lexicon *l, const char *path)
{
    *l = (cla_lexicon){ 0 };
    reader r = { l, path };
    cla_status status = cla_lines_filled(path, add_line, &r);
    if (!status && !l->words.count) {
        status = cla_fail(CLA_E_INPUT, "%s: holds no word", path);
    }
    if (status) {
        cla_lexicon_free(l);
    }
    return status;
}

bool cla_lexicon_has(const cla_lexicon *l, const char *word, size_t size)
{
    char copy[MAX_BYTES + 1];
    if (size > MAX_BYTES) {
        return false;
    }
    memcpy(copy, word, size);
    copy[size] = 0;
    return cla_vocab_find(&l->words, copy) >= 0;
}

/* Returns the bytes of the longest word at the start of text, 0 when there is none.
 * *letters counts its code points. */
static size_t longest_word(const cla_lexicon *l, const char *text, size_t size,
                           int32_t *letters)
{
    size_t at = 0, longest = 0;
    int32_t code = 0;
    *letters = 0;
    for (int32_t n = 1; n <= l->longest && at < size; n++) {
        at += (size_t)cla_utf8_step(text + at, size - at, &code);
        if (cla_lexicon_has(l, text, at)) {
            longest = at;
            *letters = n;
        }
    }
    return longest;
}

cla_status cla_lexicon_cut(const cla_lexicon *l, const char *text, size_t size,
                           cla_words *w)
{
    int32_t point = 0, code = 0, letters = 0;
    if (size > INT32_MAX) {
        return cla_fail(CLA_E_INPUT, "a text of %zu bytes is too long", size);
    }
    for (size_t at = 0; at < size;) {
        size_t bytes = longest_word(l, text + at, size - at, &letters);
        const bool found = bytes > 0;
        if (!found) {
            bytes = (size_t)cla_utf8_step(text + at, size - at, &code);
            letters = 1;
        }
        if (found || cla_utf8_is_letter(code)) {
            CLA_TRY(cla_grow(&w->word, &w->cap, w->count + 1, sizeof *w->word));
            w->word[w->count++] =
                (cla_span){ point, point + letters, (int32_t)at, (int32_t)bytes };
        }
        at += bytes;
        point += letters;
    }
    return CLA_OK;
}
