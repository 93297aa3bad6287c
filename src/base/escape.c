/* escape.c - makes characters visible that a message would hide. */
#include "base/escape.h"

#include <stdio.h>
#include <string.h>

enum { WIDEST = sizeof "\\u{10ffff}" };

/* First and last code points. The core has no library of Unicode. */
static const uint32_t hidden[][2] = {
    { 0x00, 0x1F },       { 0x7F, 0xA0 },       { 0xAD, 0xAD },
    { 0x34F, 0x34F },     { 0x61C, 0x61C },     { 0x115F, 0x1160 },
    { 0x1680, 0x1680 },   { 0x17B4, 0x17B5 },   { 0x180B, 0x180F },
    { 0x2000, 0x200F },   { 0x2028, 0x202F },   { 0x205F, 0x206F },
    { 0x3000, 0x3000 },   { 0x3164, 0x3164 },   { 0xFE00, 0xFE0F },
    { 0xFEFF, 0xFEFF },   { 0xFFA0, 0xFFA0 },   { 0xFFF0, 0xFFFB },
    { 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A }, { 0xE0000, 0xE0FFF },
};

static bool is_hidden(uint32_t code)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        if (code >= hidden[i][0] && code <= hidden[i][1]) return true;
    }
    return false;
}

/* Returns how many bytes a character with this first byte has; 0: none has it. */
static size_t size_of(unsigned char first)
{
    return first < 0x80   ? 1
           : first < 0xC2 ? 0
           : first < 0xE0 ? 2
           : first < 0xF0 ? 3
           : first < 0xF5 ? 4
                          : 0;
}

/* Reads a character of text, which ends with a NUL. *code is UINT32_MAX for a byte that
 * is not UTF-8. Returns its bytes; 0 for the head of a character that was cut off. */
static size_t step(const char *text, uint32_t *code)
{
    const unsigned char *const at = (const unsigned char *)text;
    static const uint32_t mask[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t size = size_of(*at);
    *code = *at & mask[size];
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            const bool cut = !at[i] || at[i] == '\'' || at[i] == '"';
            *code = UINT32_MAX;
            return cut ? 0 : 1;
        }
        *code = *code << 6 | (at[i] & 0x3F);
    }
    const bool surrogate = *code >= 0xD800 && *code < 0xE000;
    if (!size || *code < least[size] || *code > 0x10FFFF || surrogate) {
        *code = UINT32_MAX;
    }
    return *code == UINT32_MAX ? 1 : size;
}

static size_t put(char out[WIDEST], const char *text, size_t size, uint32_t code,
                  bool lines)
{
    if (code == UINT32_MAX) {
        return (size_t)snprintf(out, WIDEST, "\\x%02x", (unsigned char)*text);
    }
    if (code == '\n' || code == '\t') {
        *out = lines ? *text : ' ';
        return 1;
    }
    if (is_hidden(code)) {
        return (size_t)snprintf(out, WIDEST, "\\u{%x}", (unsigned)code);
    }
    memcpy(out, text, size);
    return size;
}

void cla_escape(char *out, size_t room, const char *text, bool lines)
{
    size_t used = 0;
    while (*text) {
        char seen[WIDEST];
        uint32_t code = 0;
        const size_t size = step(text, &code);
        const size_t bytes = size ? put(seen, text, size, code, lines) : 0;
        if (used + bytes >= room) {
            break;
        }
        memcpy(out + used, seen, bytes);
        used += bytes;
        text += size;
        while (!size && *text && *text != '\'' && *text != '"') {
            text++; // the rest of the head
        }
    }
    out[used] = '\0';
}
