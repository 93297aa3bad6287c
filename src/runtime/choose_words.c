/* choose_words.c - splits the text of CLATTN_DEVICE into words. */
#include <string.h>

#include "base/text.h"
#include "runtime/device.h"

static const char blanks[] = " \t";

/* Returns the length of the name of a device that stands at text, or 0. */
static size_t name_at(const char *text, const cla_device *list, int count)
{
    size_t longest = 0;
    for (int i = 0; i < count; i++) {
        size_t size;
        if (cla_device_named(&list[i], text, &size) && size > longest) longest = size;
    }
    return longest;
}

/* Returns the length of the word up to a comma outside of brackets, or up to the first
 * comma if brackets are left open. */
static size_t word_at(const char *text)
{
    int depth = 0;
    for (const char *c = text;; c++) {
        if (!*c && depth > 0) return strcspn(text, ",");
        if (!*c || (*c == ',' && depth <= 0)) return (size_t)(c - text);
        depth += (*c == '(') - (*c == ')');
    }
}

static cla_status copy_word(cla_wish *wish, const char *begin, size_t size)
{
    CLA_TRY(cla_alloc(&wish->word, size + 1, 1));
    memcpy(wish->word, begin, size);
    return CLA_OK;
}

/* Reads a word in quotes; *rest points at the first one. */
static cla_status read_quoted(cla_wish *wish, const char **rest, const char *text)
{
    const char *begin = *rest + 1, *end = strchr(begin, **rest);
    if (!end) {
        return cla_fail(CLA_E_USAGE, "device '%s': %c is not closed", text, **rest);
    }
    *rest = end + 1 + strspn(end + 1, blanks);
    if (**rest && **rest != ',') {
        return cla_fail(CLA_E_USAGE, "device '%s': a comma must follow the quoted name",
                        text);
    }
    wish->quoted = true;
    return copy_word(wish, begin, (size_t)(end - begin));
}

static cla_status read_plain(cla_wish *wish, const char **rest, const cla_device *list,
                             int count)
{
    size_t size = name_at(*rest, list, count);
    if (size == 0) size = word_at(*rest);
    const char *begin = *rest;
    *rest += size;
    *rest += strspn(*rest, blanks);
    while (size > 0 && strchr(blanks, begin[size - 1]))
        size--;
    return copy_word(wish, begin, size);
}

static cla_status read_word(cla_wish *wish, const char **rest, const char *text,
                            const cla_device *list, int count)
{
    *rest += strspn(*rest, blanks);
    if (**rest == '!') {
        wish->exclude = true;
        *rest += 1 + strspn(*rest + 1, blanks);
    }
    const bool quote = **rest == '"' || **rest == '\'';
    CLA_TRY(quote ? read_quoted(wish, rest, text)
                  : read_plain(wish, rest, list, count));
    if (wish->exclude && (!*wish->word || *wish->word == '!')) {
        return cla_fail(CLA_E_USAGE, "device '%s': '!' must be followed by a device",
                        text);
    }
    return CLA_OK;
}

cla_status cla_wishes_read(cla_wish **wishes, const char *text, const cla_device *list,
                           int count)
{
    size_t most = 2; // words, and the end
    for (const char *c = text; *c; c++)
        most += *c == ',';
    CLA_TRY(cla_alloc(wishes, most, sizeof **wishes));
    cla_wish *wish = *wishes;
    for (const char *rest = text;; rest++) {
        CLA_TRY(read_word(wish++, &rest, text, list, count));
        if (!*rest) return CLA_OK;
    }
}

void cla_wishes_free(cla_wish **wishes)
{
    for (cla_wish *w = *wishes; w && w->word; w++)
        free(w->word);
    free(*wishes);
    *wishes = NULL;
}
