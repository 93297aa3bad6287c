/* utf8.c - code points, from utf8proc. */
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
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)strlen(text), code);
    return bytes > 0 ? (int)bytes : 1;
}

int cla_utf8_put(int32_t code, char out[5])
{
    const utf8proc_ssize_t bytes = utf8proc_encode_char(code, (utf8proc_uint8_t *)out);
    out[bytes] = 0;
    return (int)bytes;
}
