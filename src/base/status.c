/* status.c - names of statuses, and each thread's error text. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/escape.h"
#include "base/locale.h"

enum { ERROR_BYTES = 4096 };

static _Thread_local char error_text[ERROR_BYTES];

const char *cla_error(void)
{
    return error_text;
}

const char *cla_version(void)
{
    return CLA_VERSION;
}

/* Copies text to line as one line whose characters can all be seen: names in it come
 * from files and drivers. */
static void keep_one_line(char line[ERROR_BYTES], char *text)
{
    size_t end = strlen(text);
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' ')) {
        text[--end] = '\0';
    }
    cla_escape(line, ERROR_BYTES, text, false);
}

__attribute__((format(printf, 2, 0))) static void format_text(char *text,
                                                              const char *format,
                                                              va_list args)
{
    void *before = cla_locale_enter();
    vsnprintf(text, ERROR_BYTES, format, args);
    cla_locale_leave(before);
}

cla_status cla_fail(cla_status code, const char *format, ...)
{
    char text[ERROR_BYTES]; // the arguments may point into error_text
    va_list args;
    va_start(args, format);
    format_text(text, format, args);
    va_end(args);

    keep_one_line(error_text, text);
    return code;
}

cla_status cla_fail_at(cla_status code, const char *excerpt, int column,
                       const char *format, ...)
{
    char text[ERROR_BYTES], line[ERROR_BYTES];
    char place[ERROR_BYTES / 4], before[ERROR_BYTES / 4];
    va_list args;
    va_start(args, format);
    format_text(text, format, args);
    va_end(args);
    keep_one_line(line, text);
    cla_escape(place, sizeof place, excerpt, false);
    snprintf(text, sizeof text, "%.*s", column, excerpt);
    cla_escape(before, sizeof before, text, false);
    int width = 0;
    for (const char *c = before; *c; c++) {
        width += (*c & 0xC0) != 0x80;
    }
    snprintf(error_text, sizeof error_text, "%.*s\n  %s\n  %*s^", ERROR_BYTES / 4, line,
             place, width, "");
    return code;
}

cla_status cla_fail_within(cla_status code, const char *format, ...)
{
    char text[ERROR_BYTES], line[2 * ERROR_BYTES + 2];
    va_list args;
    va_start(args, format);
    format_text(text, format, args);
    va_end(args);

    keep_one_line(line, text);
    const size_t size = strlen(line);
    snprintf(line + size, sizeof line - size, ": %s", error_text);
    line[ERROR_BYTES - 1] = '\0';
    memcpy(error_text, line, sizeof error_text);
    return code;
}

cla_status cla_need(const char *who, const char *names, const void *const *pointers,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t length = strcspn(names, ",");
        if (!pointers[i]) {
            return cla_fail(CLA_E_USAGE, "%s: %.*s is NULL", who + strlen("cla_"),
                            (int)length, names);
        }
        names += names[length] ? length + strlen(", ") : 0;
    }
    return CLA_OK;
}

cla_status cla_known(const char *who, const char *name, int value, int last,
                     const char *most)
{
    return value >= 0 && value <= last
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "%s: %s is %d, must be 0 to %d (%s)",
                          who + strlen("cla_"), name, value, last, most);
}

cla_status cla_reserved(const char *who, const uint64_t reserved[4])
{
    if (reserved[0] | reserved[1] | reserved[2] | reserved[3]) {
        return cla_fail(CLA_E_USAGE,
                        "%s: options.reserved is not 0: they were not set to {0}, or "
                        "are of a later version",
                        who);
    }
    return CLA_OK;
}

const char *cla_status_name(cla_status code)
{
    switch (code) {
    case CLA_OK:
        return "ok";
    case CLA_E_USAGE:
        return "usage";
    case CLA_E_INPUT:
        return "input";
    case CLA_E_DEVICE:
        return "device";
    case CLA_E_NOMEM:
        return "memory";
    case CLA_E_IO:
        return "io";
    case CLA_E_NUMERIC:
        return "numeric";
    case CLA_E_SHAPE:
        return "shape";
    }
    return "unknown";
}
