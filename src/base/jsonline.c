/* jsonline.c - finds the line of a key in the text of a JSON object. */
#include "base/jsonline.h"

#include <string.h>

#define BLANKS " \t\r\n"

/* Returns the closing quote of the string whose opening quote is at text, or the end of
 * the text. */
static const char *string_end(const char *text)
{
    for (text++; *text && *text != '"'; text++) {
        text += text[0] == '\\' && text[1];
    }
    return text;
}

/* Returns the opening quote of a key in the object whose '{' precedes text, or NULL. */
static const char *find_key(const char *text, const char *key, size_t size)
{
    for (int depth = 0; *text && depth >= 0; text++) {
        depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
        if (*text != '"') {
            continue;
        }
        const char *end = string_end(text);
        if (!*end) {
            return NULL;
        }
        const char *next = end + 1 + strspn(end + 1, BLANKS);
        const bool same =
            (size_t)(end - text) == size + 1 && memcmp(text + 1, key, size) == 0;
        if (!depth && *next == ':' && same) {
            return text;
        }
        text = end;
    }
    return NULL;
}

/* Returns the first byte of the value of the key whose opening quote is at text. */
static const char *value_of(const char *text)
{
    const char *at = string_end(text) + 1;
    at += strspn(at, BLANKS);
    at += *at == ':';
    return at + strspn(at, BLANKS);
}

int cla_json_line(const char *text, const char *key)
{
    const char *at = text + strspn(text, BLANKS);
    for (;;) {
        const size_t size = strcspn(key, ".");
        at = *at == '{' ? find_key(at + 1, key, size) : NULL;
        if (!at || !key[size]) {
            break;
        }
        key += size + 1;
        at = value_of(at);
    }
    int line = at != NULL;
    for (const char *c = text; at && c < at; c++) {
        line += *c == '\n';
    }
    return line;
}
