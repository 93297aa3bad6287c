/* segmented.c - converts lists of words to texts. */
#include "text/segmented.h"

#include <string.h>

#include "base/utf8.h"

bool cla_segmented_is(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!json_is_string(json_array_get(list, i))) {
            return false;
        }
    }
    return json_is_array(list);
}

const char *cla_segmented_word(const json_t *list, size_t i)
{
    return json_string_value(json_array_get(list, i));
}

/* Appends the words of list as a text, at most limit (0: all). */
static cla_status add_words(cla_reading *r, const json_t *list, int64_t limit,
                            cla_reading_text *text, bool *was_cut)
{
    int32_t point = 0;
    *was_cut = false;
    *text = (cla_reading_text){ .at = r->bytes.size, .first = r->words.count };
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = cla_segmented_word(list, i);
        const size_t size = strlen(word);
        if (!size) {
            continue;
        }
        if (limit && text->count == (size_t)limit) {
            *was_cut = true;
            break;
        }
        const int32_t points = cla_utf8_count(word, size);
        cla_words *words = &r->words;
        CLA_TRY(
            cla_grow(&words->word, &words->cap, words->count + 1, sizeof *words->word));
        words->word[words->count++] =
            (cla_span){ point, point + points, (int32_t)text->size, (int32_t)size };
        CLA_TRY(cla_text_append(&r->bytes, word, size));
        text->size += size;
        text->count++;
        point += points;
    }
    return cla_text_append(&r->bytes, "", 1);
}

cla_status cla_segmented_add(cla_reading *r, const json_t *written, const json_t *list,
                             int64_t limit, cla_reading_text *text, bool *was_cut)
{
    if (!json_is_string(written)) {
        return add_words(r, list, limit, text, was_cut);
    }
    CLA_TRY(cla_reading_add_text(r, json_string_value(written),
                                 json_string_length(written), text));
    return cla_reading_cut(r, text, limit, was_cut);
}
