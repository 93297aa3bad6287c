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

bool cla_utf8_is_small(int32_t code)
{
    return utf8proc_tolower(code) == code && utf8proc_toupper(code) != code;
}

bool cla_utf8_is_capital(int32_t code)
{
    return utf8proc_tolower(code) != code;
}

int32_t cla_utf8_lower(int32_t code)
{
    return utf8proc_tolower(code);
}

/* ---- lower case of a text ---------------------------------------------------- */

/* Returns Unicode's property Cased: an upper-, lower- or title-case letter, or a code
 * point with a mapping to another case (a circled letter, a Roman numeral), or one of
 * the ordinal indicators and squared letters, which have none. */
static bool is_cased(int32_t code)
{
    const utf8proc_category_t category = utf8proc_category(code);
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT) ||
           utf8proc_tolower(code) != code || utf8proc_toupper(code) != code ||
           code == 0xAA || code == 0xBA || (code >= 0x1F130 && code <= 0x1F149) ||
           (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189);
}

/* Returns Unicode's property Case_Ignorable: marks, format characters, modifiers and
 * the punctuation inside words. */
static bool is_case_ignorable(int32_t code)
{
    static const int32_t marks[] = {
        0x0027, 0x002E, 0x003A, 0x00B7, 0x0387, 0x055F, 0x05F4, 0x2018, 0x2019,
        0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A,
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (code == marks[i]) {
            return true;
        }
    }
    const utf8proc_category_t category = utf8proc_category(code);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
           category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
           category == UTF8PROC_CATEGORY_SK;
}

/* Returns whether the last code point before text[end] that is not case-ignorable is
 * cased. */
static bool cased_before(const char *text, size_t end)
{
    int32_t code = 0;
    while (end > 0) {
        size_t at = end - 1;
        while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80) {
            at--;
        }
        cla_utf8_step(text + at, end - at, &code);
        if (!is_case_ignorable(code)) {
            return is_cased(code);
        }
        end = at;
    }
    return false;
}

/* Returns whether the first code point from text[at] on that is not case-ignorable is
 * cased. */
static bool cased_after(const char *text, size_t size, size_t at)
{
    int32_t code = 0;
    while (at < size) {
        at += (size_t)cla_utf8_step(text + at, size - at, &code);
        if (!is_case_ignorable(code)) {
            return is_cased(code);
        }
    }
    return false;
}

cla_status cla_utf8_lower_text(const char *text, size_t size, cla_text *out)
{
    for (size_t at = 0; at < size;) {
        int32_t code = 0;
        char lower[5];
        const size_t end = at + (size_t)cla_utf8_step(text + at, size - at, &code);
        if (code == 0x0130) { // I with a dot above: i, combining dot above
            CLA_TRY(cla_text_append(out, "i\xCC\x87", 3));
        } else if (code == 0xFFFD) { // itself or a byte that is not UTF-8
            CLA_TRY(cla_text_append(out, text + at, end - at));
        } else {
            const bool final = code == 0x03A3 && cased_before(text, at) &&
                               !cased_after(text, size, end);
            const int bytes =
                cla_utf8_put(final ? 0x03C2 : cla_utf8_lower(code), lower);
            CLA_TRY(cla_text_append(out, lower, (size_t)bytes));
        }
        at = end;
    }
    return CLA_OK;
}
