/* lines.c - a text file as lines. */
#include "text/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

cla_status cla_line_check(const char *path, size_t number, char *text, size_t *size)
{
    if (*size && text[*size - 1] == '\n') {
        text[--*size] = 0;
    }
    if (*size && text[*size - 1] == '\r') {
        text[--*size] = 0;
    }
    if (memchr(text, 0, *size)) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: holds a NUL byte", path, number);
    }
    const size_t bad = cla_utf8_check(text, *size);
    return bad == *size ? CLA_OK
                        : cla_fail(CLA_E_INPUT, "%s:%zu: not UTF-8 (byte %zu)", path,
                                   number, bad + 1);
}

static cla_status cut_lines(cla_lines *l, size_t size)
{
    const size_t mark = sizeof BYTE_ORDER_MARK - 1;
    const bool marked = size >= mark && memcmp(l->data, BYTE_ORDER_MARK, mark) == 0;
    for (size_t at = marked ? mark : 0; at < size;) {
        char *end = memchr(l->data + at, '\n', size - at);
        size_t bytes = end ? (size_t)(end - l->data) - at : size - at;
        const size_t next = at + bytes + 1;
        l->data[at + bytes] = 0;
        CLA_TRY(cla_line_check(l->path, l->count + 1, l->data + at, &bytes));
        CLA_TRY(cla_grow(&l->line, &l->cap, l->count + 1, sizeof *l->line));
        l->line[l->count++] = (cla_line){ l->data + at, bytes };
        at = next;
    }
    return CLA_OK;
}

cla_status cla_lines_read(cla_lines *l, const char *path)
{
    size_t size = 0;
    const bool standard = strcmp(path, "-") == 0;
    *l = (cla_lines){ 0 };
    cla_status status = cla_strdup(&l->path, standard ? "standard input" : path);
    if (!status) {
        status = standard ? cla_stdin_read(&l->data, &size)
                          : cla_file_read(path, &l->data, &size);
    }
    status = status ? status : cut_lines(l, size);
    if (status) {
        cla_lines_free(l);
    }
    return status;
}

static cla_status each_line(FILE *file, const char *path, cla_take_line *take, void *to)
{
    const size_t mark = sizeof BYTE_ORDER_MARK - 1;
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t got = 0;
    cla_status status = CLA_OK;
    while (!status && (got = getline(&line, &cap, file)) > 0) {
        size_t size = (size_t)got;
        const bool marked =
            ++number == 1 && size >= mark && memcmp(line, BYTE_ORDER_MARK, mark) == 0;
        char *text = line + (marked ? mark : 0);
        size -= marked ? mark : 0;
        status = cla_line_check(path, number, text, &size);
        status = status ? status : take(to, number, text, size);
    }
    free(line);
    if (!status && !feof(file)) {
        char reason[128];
        status = cla_fail(CLA_E_IO, "%s: cannot read: %s", path,
                          strerror_r(errno, reason, sizeof reason));
    }
    return status;
}

cla_status cla_lines_each(const char *path, cla_take_line *take, void *to)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        char reason[128];
        return cla_fail(CLA_E_IO, "%s: cannot open: %s", path,
                        strerror_r(errno, reason, sizeof reason));
    }
    const cla_status status = each_line(file, path, take, to);
    fclose(file);
    return status;
}

void cla_lines_free(cla_lines *l)
{
    free(l->path);
    free(l->data);
    free(l->line);
    *l = (cla_lines){ 0 };
}

cla_status cla_lines_pair(const cla_lines *a, const cla_lines *b)
{
    if (a->count == b->count) {
        return CLA_OK;
    }
    const cla_lines *longer = a->count > b->count ? a : b;
    const cla_lines *shorter = longer == a ? b : a;
    return cla_fail(CLA_E_INPUT, "%s:%zu: has no partner: %s ends at line %zu",
                    longer->path, shorter->count + 1, shorter->path, shorter->count);
}
