/* utf8.c - Unicode code points, through utf8proc. */
#include "base/utf8.h"

#include <string.h>
#include <utf8proc.h>

size_t cla_utf8_check(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        utf8proc_int32_t code = 0;
        const utf8proc_ssize_t bytes = utf8proc_iterate(
            (const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(size - at), &code);
        if (bytes <= 0) {
            return at;
        }
        at += (size_t)bytes;
    }
    return size;
}

int cla_utf8_next(const char *text, int32_t *code)
{
    const utf8proc_ssize_t bytes = utf8proc_iterate(
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)strnlen(text, 4), code);
    return bytes > 0 ? (int)bytes : 1;
}

int cla_utf8_step(const char *text, size_t size, int32_t *code)
{
    const utf8proc_ssize_t bytes = utf8proc_iterate(
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)(size < 4 ? size : 4), code);
    if (bytes <= 0) {
        *code = 0xFFFD;
    }
    return bytes > 0 ? (int)bytes : 1;
}

int32_t cla_utf8_count(const char *text, size_t size)
{
    int32_t n = 0;
    for (size_t i = 0; i < size; i++) {
        n += ((unsigned char)text[i] & 0xC0) != 0x80;
    }
    return n;
}

int cla_utf8_put(int32_t code, char out[5])
{
    const utf8proc_ssize_t bytes = utf8proc_encode_char(code, (utf8proc_uint8_t *)out);
    out[bytes] = 0;
    return (int)bytes;
}

/* Returns whether code is in a block of scripts without blanks between words. */
static bool is_ideographic(int32_t code)
{
    static const int32_t blocks[][2] = {
        { 0x2E80, 0x2FDF },   // radicals
        { 0x3001, 0x312F },   // punctuation, kana, bopomofo
        { 0x31A0, 0x31FF },   // bopomofo, strokes, kana
        { 0x3400, 0x4DBF },   // Han, extension A
        { 0x4E00, 0x9FFF },   // Han
        { 0xF900, 0xFAFF },   // Han, compatibility
        { 0xFF01, 0xFF9F },   // wide and half-width forms
        { 0x20000, 0x3FFFF }, // Han, further extensions
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (code >= blocks[i][0] && code <= blocks[i][1]) {
            return true;
        }
    }
    return false;
}

cla_utf8_kind cla_utf8_kind_of(int32_t code)
{
    const utf8proc_category_t category = utf8proc_category(code);
    if (category == UTF8PROC_CATEGORY_CC ||
        (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP)) {
        return CLA_UTF8_BLANK;
    }
    if (is_ideographic(code)) {
        return CLA_UTF8_IDEOGRAPH;
    }
    const bool marks =
        category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO;
    return marks ? CLA_UTF8_PUNCTUATION : CLA_UTF8_WORD;
}

bool cla_utf8_is_letter(int32_t code)
{
    const utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

bool cla_utf8_is_space(int32_t code)
{
    const utf8proc_category_t category = utf8proc_category(code);
    return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x1F) ||
           code == 0x85 ||
           (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

int32_t cla_utf8_lower(int32_t code)
{
    return utf8proc_tolower(code);
}
