/* tuning_file.c - reads the JSON of a tuning file in place (RFC 8259). */
#include "runtime/tuning_file.h"

#include <string.h>

enum { DEPTH = 64 }; // of objects and arrays within each other

/* A place in a text that ends with a NUL. */
typedef struct reader {
    const char *at;
    const char *why; // a syntax error; NULL: none so far
} reader;

static bool refuse(reader *r, const char *why)
{
    r->why = why;
    return false;
}

static void skip_blanks(reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static bool skip_sign(reader *r, char sign, const char *why)
{
    skip_blanks(r);
    if (*r->at != sign) return refuse(r, why);
    r->at++;
    skip_blanks(r);
    return true;
}

static bool skip_string(reader *r)
{
    if (*r->at != '"') return refuse(r, "string expected");
    for (r->at++; *r->at != '"'; r->at++) {
        if ((unsigned char)*r->at < 0x20) return refuse(r, "string without its end");
        if (*r->at != '\\') continue;
        r->at++;
        if (*r->at == 'u' && strspn(r->at + 1, "0123456789abcdefABCDEF") >= 4) {
            r->at += 4;
        } else if (!*r->at || !strchr("\"\\/bfnrt", *r->at)) {
            return refuse(r, "invalid escape");
        }
    }
    r->at++;
    return true;
}

/* Skips decimal digits; returns false if there are none. */
static bool skip_digits(reader *r)
{
    const size_t n = strspn(r->at, "0123456789");
    r->at += n;
    return n > 0;
}

static bool skip_number(reader *r)
{
    r->at += *r->at == '-';
    const bool zero = *r->at == '0';
    const char *const first = r->at;
    if (!skip_digits(r) || (zero && r->at != first + 1)) {
        return refuse(r, "value expected");
    }
    if (*r->at == '.') {
        r->at++;
        if (!skip_digits(r)) return refuse(r, "digits expected");
    }
    if (*r->at == 'e' || *r->at == 'E') {
        r->at++;
        r->at += *r->at == '+' || *r->at == '-';
        if (!skip_digits(r)) return refuse(r, "digits expected");
    }
    return true;
}

static bool skip_word(reader *r)
{
    static const char *const words[] = { "true", "false", "null" };
    for (int i = 0; i < 3; i++) {
        const size_t n = strlen(words[i]);
        if (strncmp(r->at, words[i], n) == 0) {
            r->at += n;
            return true;
        }
    }
    return false;
}

static bool skip_scalar(reader *r)
{
    return *r->at == '"' ? skip_string(r) : skip_word(r) || skip_number(r);
}

/* Skips the name of a member if the list that is read ends in a brace. */
static bool skip_name(reader *r, char end)
{
    return end != '}' || (skip_string(r) && skip_sign(r, ':', "':' expected"));
}

/* Skips the end of each list that ends here; returns how many are still open. */
static int skip_ends(reader *r, const char *ends, int open)
{
    for (; open; open--) {
        skip_blanks(r);
        if (*r->at != ends[open - 1]) break;
        r->at++;
    }
    return open;
}

static bool skip_value(reader *r)
{
    char ends[DEPTH];
    int open = 0;
    do {
        if (*r->at == '{' || *r->at == '[') {
            if (open == DEPTH) return refuse(r, "too many levels");
            ends[open++] = *r->at++ == '{' ? '}' : ']';
            skip_blanks(r);
            if (*r->at != ends[open - 1]) {
                if (!skip_name(r, ends[open - 1])) return false;
                continue;
            }
        } else if (!skip_scalar(r)) {
            return false;
        }
        open = skip_ends(r, ends, open);
        if (open && !skip_sign(r, ',', "',' or an end expected")) return false;
        if (open && !skip_name(r, ends[open - 1])) return false;
    } while (open);
    return true;
}

cla_status cla_members_check(const char *text, size_t size)
{
    reader r = { .at = text };
    skip_blanks(&r);
    const bool object = *r.at == '{';
    if (skip_value(&r)) {
        skip_blanks(&r);
        if (r.at != text + size) refuse(&r, "end of file expected");
    }
    if (!r.why && !object) return cla_fail(CLA_E_INPUT, "is not an object");
    if (!r.why) return CLA_OK;

    int line = 1;
    for (const char *c = text; c < r.at; c++) {
        line += *c == '\n';
    }
    return cla_fail(CLA_E_INPUT, "line %d: %s", line, r.why);
}

bool cla_members_are(cla_slice value)
{
    return value.size > 0 && *value.at == '{';
}

bool cla_members_next(const char **at, cla_member *member)
{
    reader r = { .at = *at };
    skip_blanks(&r);
    r.at += *r.at == '{' || *r.at == ',';
    skip_blanks(&r);
    if (*r.at != '"') return false;

    const char *begin = r.at + 1;
    skip_string(&r);
    member->name = (cla_slice){ begin, (size_t)(r.at - 1 - begin) };
    skip_sign(&r, ':', "");
    begin = r.at;
    skip_value(&r);
    member->value = (cla_slice){ begin, (size_t)(r.at - begin) };
    *at = r.at;
    return true;
}

/* Returns the number of four hexadecimal digits. */
static uint32_t unit(const char *digits)
{
    char four[5] = { 0 };
    memcpy(four, digits, 4);
    return (uint32_t)strtoul(four, NULL, 16);
}

/* Writes a code point as UTF-8; returns how many bytes. */
static size_t put_utf8(char bytes[4], uint32_t c)
{
    const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char head[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = n; i-- > 1; c >>= 6) {
        bytes[i] = (char)(0x80 | (c & 0x3F));
    }
    bytes[0] = (char)(head[n] | c);
    return n;
}

/* Resolves the escape at *at, behind its backslash; returns how many bytes it gives. */
static size_t resolve(const char **at, const char *end, char bytes[4])
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char c = *(*at)++;
    if (c != 'u') {
        const char *found = strchr(from, c);
        bytes[0] = found ? to[found - from] : c;
        return 1;
    }
    uint32_t point = unit(*at);
    *at += 4;
    const bool high = point >= 0xD800 && point < 0xDC00;
    if (high && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        const uint32_t low = unit(*at + 2);
        point = 0x10000 + ((point - 0xD800) << 10) + ((low - 0xDC00) & 0x3FF);
        *at += 6;
    }
    return put_utf8(bytes, point);
}

bool cla_name_is(cla_slice name, const char *text)
{
    const char *at = name.at, *const end = name.at + name.size;
    while (at < end) {
        char bytes[4] = { *at++ };
        const size_t n = bytes[0] == '\\' ? resolve(&at, end, bytes) : 1;
        if (!*text || strncmp(text, bytes, n) != 0) return false;
        text += n;
    }
    return !*text;
}
