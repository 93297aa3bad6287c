/* input.c - the front of every reader of text. */
#include "base/input.h"

#include <string.h>

#include "base/file.h"
#include "base/utf8.h"

const char *cla_source_name(const char *path, cla_source source)
{
    const bool standard = source == CLA_SOURCE_STDIN && strcmp(path, "-") == 0;
    return standard ? "standard input" : path;
}

bool cla_line_is_blank(const char *line, size_t size)
{
    size_t at = 0;
    while (at < size && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r')) {
        at++;
    }
    return at == size;
}

cla_status cla_line_check(const char *path, size_t number, char *line, size_t *size)
{
    if (*size && line[*size - 1] == '\n') {
        line[--*size] = 0;
    }
    if (*size && line[*size - 1] == '\r') {
        line[--*size] = 0;
    }
    if (memchr(line, 0, *size)) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: holds a NUL byte", path, number);
    }
    const size_t bad = cla_utf8_check(line, *size);
    return bad == *size ? CLA_OK
                        : cla_fail(CLA_E_INPUT, "%s:%zu: not UTF-8 (byte %zu)", path,
                                   number, bad + 1);
}

cla_status cla_line_alone(const char *path, const char *line, size_t size)
{
    return memchr(line, '\r', size)
               ? cla_fail(CLA_E_INPUT,
                          "%s:1: lines end in CR alone, must end in LF or CR LF", path)
               : CLA_OK;
}

/* ---- whole texts ------------------------------------------------------------- */

/* Reads the bytes of a source; the caller frees *data. */
static cla_status read_bytes(char **data, size_t *size, const char *path,
                             cla_source source)
{
    if (source == CLA_SOURCE_FILE) {
        return cla_file_read(path, data, size);
    }
    return cla_source_name(path, source) == path ? cla_input_read(path, data, size)
                                                 : cla_stdin_read(data, size);
}

cla_status cla_text_refuse(const char *path, size_t line, const char *text, size_t at)
{
    size_t start = 0;
    for (size_t i = 0; i < at; i++) {
        line += text[i] == '\n';
        start = text[i] == '\n' ? i + 1 : start;
    }
    return text[at] ? cla_fail(CLA_E_INPUT, "%s:%zu: not UTF-8 (byte %zu)", path, line,
                               at - start + 1)
                    : cla_fail(CLA_E_INPUT, "%s:%zu: holds a NUL byte", path, line);
}

cla_status cla_text_read(char **text, size_t *size, const char *path, cla_source source)
{
    CLA_TRY(read_bytes(text, size, path, source));
    const size_t mark = cla_mark_size(*text, *size);
    *size -= mark;
    memmove(*text, *text + mark, *size + 1);
    const size_t good = cla_utf8_check(*text, *size), whole = strlen(*text);
    if (good == *size && whole == *size) {
        return CLA_OK;
    }
    const cla_status status = cla_text_refuse(cla_source_name(path, source), 1, *text,
                                              whole < good ? whole : good);
    free(*text);
    *text = NULL;
    return status;
}

/* ---- lines ------------------------------------------------------------------- */

cla_scan cla_scan_text(const char *path, size_t before, char *text, size_t size)
{
    const size_t mark = before ? 0 : cla_mark_size(text, size);
    return (cla_scan){
        .path = path, .at = text + mark, .end = text + size, .number = before
    };
}

cla_status cla_scan_file(cla_scan *scan, const char *path, cla_source source)
{
    char *data = NULL;
    size_t size = 0;
    *scan = (cla_scan){ 0 };
    CLA_TRY(read_bytes(&data, &size, path, source));
    *scan = cla_scan_text(cla_source_name(path, source), 0, data, size);
    scan->data = data;
    return CLA_OK;
}

cla_status cla_scan_line(cla_scan *scan, char **line, size_t *size)
{
    *line = NULL;
    *size = 0;
    if (scan->at >= scan->end) {
        return CLA_OK;
    }
    const size_t left = (size_t)(scan->end - scan->at);
    char *const text = scan->at, *const end = memchr(text, '\n', left);
    scan->ended = end != NULL;
    *size = end ? (size_t)(end - text) + 1 : left;
    scan->at += *size;
    scan->number++;
    const size_t whole = *size - scan->ended;
    CLA_TRY(cla_line_check(scan->path, scan->number, text, size));
    scan->carriage = scan->ended && *size < whole;
    if (!scan->ended && scan->number == 1) {
        CLA_TRY(cla_line_alone(scan->path, text, *size));
    }
    *line = text;
    return CLA_OK;
}

cla_status cla_scan_filled(cla_scan *scan, char **line, size_t *size)
{
    do {
        CLA_TRY(cla_scan_line(scan, line, size));
    } while (*line && cla_line_is_blank(*line, *size));
    return CLA_OK;
}
