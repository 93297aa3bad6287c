/* words.c - cuts a text into words with their places. */
#include "text/words.h"

#include <string.h>

#include "base/utf8.h"

void cla_words_free(cla_words *words)
{
    free(words->word);
    *words = (cla_words){ 0 };
}

/* A code point of the text. */
typedef struct letter {
    int32_t code;
    int bytes; // 0: past the end
    cla_utf8_kind kind;
} letter;

/* Returns whether a mark has no width. Such marks separate words, as blanks do. */
static bool is_invisible(int32_t code)
{
    return code == 0x200B || code == 0x200E || code == 0x200F || code == 0x2060 ||
           code == 0xFEFF;
}

static letter letter_at(const char *text, size_t size, size_t at)
{
    letter l = { .kind = CLA_UTF8_BLANK };
    if (at >= size) {
        return l;
    }
    l.bytes = cla_utf8_step(text + at, size - at, &l.code);
    if (l.code == 0xFFFD) {
        l.kind = CLA_UTF8_PUNCTUATION;
    } else if (!is_invisible(l.code)) {
        l.kind = cla_utf8_kind_of(l.code);
    }
    return l;
}

static bool is_digit(int32_t code)
{
    return code >= '0' && code <= '9';
}

static bool is_apostrophe(int32_t code)
{
    return code == '\'' || code == 0x2019;
}

/* Returns the bytes of an ending such as "'s" at the start of text; 0: none. */
static size_t ending(const char *text, size_t size)
{
    static const char *const endings[] = { "s", "d", "m", "t", "re", "ve", "ll" };
    const letter mark = letter_at(text, size, 0);
    if (!is_apostrophe(mark.code)) {
        return 0;
    }
    const size_t at = (size_t)mark.bytes;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t length = strlen(endings[i]);
        if (size - at < length) {
            continue;
        }
        bool same = true;
        for (size_t k = 0; k < length; k++) {
            same = same && (text[at + k] | 0x20) == endings[i][k];
        }
        if (same && letter_at(text, size, at + length).kind != CLA_UTF8_WORD) {
            return at + length;
        }
    }
    return 0;
}

/* Returns the bytes of the run of letters or digits at the start of text; *points
 * counts its code points. A number includes its '.' and ','. */
static size_t run(const char *text, size_t size, int32_t *points)
{
    size_t at = 0;
    int32_t before = 0;
    for (*points = 0; at < size; ++*points) {
        const letter l = letter_at(text, size, at);
        const letter next = letter_at(text, size, at + (size_t)l.bytes);
        const bool inside_number =
            (l.code == '.' || l.code == ',') && is_digit(before) && is_digit(next.code);
        if (l.kind != CLA_UTF8_WORD && !inside_number) {
            break;
        }
        before = l.code;
        at += (size_t)l.bytes;
    }
    return at;
}

/* Returns the bytes of the word at the start of text. after_word: the text before it
 * ends in a run of letters. */
static size_t word_at(const char *text, size_t size, bool after_word, int32_t *points)
{
    const letter l = letter_at(text, size, 0);
    if (l.kind == CLA_UTF8_WORD) {
        return run(text, size, points);
    }
    const size_t bytes = after_word ? ending(text, size) : 0;
    *points = bytes ? 1 + (int32_t)bytes - l.bytes : 1;
    return bytes ? bytes : (size_t)l.bytes;
}

cla_status cla_words_cut(cla_words *w, const char *text, size_t size)
{
    int32_t point = 0;
    bool after_word = false;
    if (size > INT32_MAX) {
        return cla_fail(CLA_E_INPUT, "a text of %zu bytes is too long", size);
    }
    for (size_t at = 0; at < size;) {
        const letter l = letter_at(text, size, at);
        if (l.kind == CLA_UTF8_BLANK) {
            at += (size_t)l.bytes;
            point++;
            after_word = false;
            continue;
        }
        int32_t points = 0;
        const size_t bytes = word_at(text + at, size - at, after_word, &points);
        CLA_TRY(cla_grow(&w->word, &w->cap, w->count + 1, sizeof *w->word));
        w->word[w->count++] =
            (cla_span){ point, point + points, (int32_t)at, (int32_t)bytes };
        at += bytes;
        point += points;
        after_word = l.kind == CLA_UTF8_WORD;
    }
    return CLA_OK;
}

bool cla_words_cover(const cla_span *words, size_t count, int32_t from, int32_t to,
                     size_t *first, size_t *last)
{
    size_t low = 0, high = count;
    while (low < high) { // the first word that ends after from
        const size_t middle = low + (high - low) / 2;
        if (words[middle].to <= from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (from >= to || low == count || words[low].from >= to) {
        return false;
    }
    *first = *last = low;
    while (*last + 1 < count && words[*last + 1].from < to) {
        ++*last;
    }
    return true;
}

cla_span cla_words_join(const cla_span *words, size_t first, size_t last)
{
    const cla_span *a = &words[first], *b = &words[last];
    return (cla_span){ a->from, b->to, a->at, b->at + b->size - a->at };
}

cla_status cla_words_form(const char *text, const cla_span *word, bool lower,
                          cla_text *out)
{
    const char *from = text + word->at;
    const size_t size = (size_t)word->size;
    for (size_t at = 0; lower && at < size;) {
        int32_t code = 0;
        char bytes[5];
        const int step = cla_utf8_step(from + at, size - at, &code);
        const int length = cla_utf8_put(cla_utf8_lower(code), bytes);
        CLA_TRY(cla_text_append(out, bytes, (size_t)length));
        at += (size_t)step;
    }
    return lower ? CLA_OK : cla_text_append(out, from, size);
}
