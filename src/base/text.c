/* text.c - a growing string, and numbers parsed the same under every locale. */
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"

cla_status cla_text_append(cla_text *text, const char *bytes, size_t size)
{
    if (size >= SIZE_MAX - text->size) {
        return cla_fail(CLA_E_NOMEM, "out of host memory: %zu bytes asked", size);
    }
    CLA_TRY(cla_grow(&text->data, &text->cap, text->size + size + 1, 1));
    if (size) memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
    return CLA_OK;
}

__attribute__((format(printf, 1, 0))) static int measure(const char *format,
                                                         va_list args)
{
    va_list copy;
    va_copy(copy, args);
    const int size = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    return size;
}

__attribute__((format(printf, 2, 0))) static cla_status add(cla_text *text,
                                                            const char *format,
                                                            va_list args)
{
    const int size = measure(format, args);
    if (size < 0) return cla_fail(CLA_E_USAGE, "text: cannot format '%s'", format);
    CLA_TRY(cla_grow(&text->data, &text->cap, text->size + (size_t)size + 1, 1));
    vsnprintf(text->data + text->size, (size_t)size + 1, format, args);
    text->size += (size_t)size;
    return CLA_OK;
}

cla_status cla_text_add(cla_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    void *before = cla_locale_enter();
    const cla_status status = add(text, format, args);
    cla_locale_leave(before);
    va_end(args);
    return status;
}

void cla_text_free(cla_text *text)
{
    if (!text) return;
    free(text->data);
    *text = (cla_text){ 0 };
}

cla_status cla_text_strings(const cla_text *text, size_t count, const char ***list)
{
    const char *at = text->data;
    CLA_TRY(cla_alloc(list, count + 1, sizeof **list));
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1) {
        (*list)[i] = at;
    }
    return CLA_OK;
}

bool cla_parse_int(const char *text, int64_t *value)
{
    // strtoll would skip leading blanks
    if (!text || !*text || text[strspn(text, "+-0123456789")]) return false;
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (*end || end == text || errno) return false;
    *value = number;
    return true;
}

bool cla_parse_double(const char *text, double *value)
{
    // strtod would take blanks, hexadecimal, "inf" and "nan"
    if (!text || !*text || text[strspn(text, "+-.0123456789eE")]) return false;
    char *end;
    double number = 0;
    if (!cla_locale_number(text, &end, &number)) return false;
    if (*end || end == text || !isfinite(number)) return false;
    *value = number;
    return true;
}

/* Returns the lower case of c in the "C" locale: Turkish does not pair I and i. */
static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

bool cla_starts_nocase(const char *text, const char *start)
{
    while (*start && lower(*text) == lower(*start)) {
        text++;
        start++;
    }
    return !*start;
}

bool cla_equals_nocase(const char *a, const char *b)
{
    return strlen(a) == strlen(b) && cla_starts_nocase(a, b);
}

bool cla_contains_nocase(const char *text, const char *part)
{
    if (!*part) return true;
    for (; *text; text++) {
        if (cla_starts_nocase(text, part)) return true;
    }
    return false;
}

bool cla_ends_in(const char *text, const char *end)
{
    const size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

size_t cla_count_words(const char *text, const char *blanks)
{
    size_t words = 0;
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        words++;
        text += strcspn(text, blanks);
    }
    return words;
}

cla_status cla_text_add_word(cla_text *line, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_./=:,+@%-";
    CLA_TRY(cla_text_add(line, "%s", line->size ? " " : ""));
    if (*word && strspn(word, plain) == strlen(word)) {
        return cla_text_add(line, "%s", word);
    }
    CLA_TRY(cla_text_add(line, "'"));
    for (const char *c = word; *c; c++) {
        CLA_TRY(*c == '\'' ? cla_text_add(line, "'\\''") : cla_text_append(line, c, 1));
    }
    return cla_text_add(line, "'");
}

size_t cla_mark_size(const char *text, size_t size)
{
    static const char mark[] = { '\xEF', '\xBB', '\xBF' };
    return size >= sizeof mark && memcmp(text, mark, sizeof mark) == 0 ? sizeof mark
                                                                       : 0;
}
