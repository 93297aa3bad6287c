/* lines.c - reads the lines of a text file, all at once or one by one. */
#include "text/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

static cla_status fail_io(const char *what, const char *path)
{
    const int error = errno;
    char reason[128];
    return cla_fail(CLA_E_IO, "%s: cannot %s: %s", path, what,
                    strerror_r(error, reason, sizeof reason));
}

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
                          : cla_input_read(path, &l->data, &size);
    }
    status = status ? status : cut_lines(l, size);
    if (status) {
        cla_lines_free(l);
    }
    return status;
}

/* ---- lines one by one --------------------------------------------------------- */

cla_status cla_lines_open(cla_line_stream *s, const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    *s = (cla_line_stream){ .path = standard ? "standard input" : path,
                            .fd = standard ? STDIN_FILENO
                                           : open(path, O_RDONLY | O_CLOEXEC),
                            .opened = !standard };
    return s->fd < 0 ? fail_io("open", path) : CLA_OK;
}

void cla_lines_close(cla_line_stream *s)
{
    if (s->opened && s->fd >= 0) {
        close(s->fd);
    }
    free(s->data);
    *s = (cla_line_stream){ .fd = -1 };
}

/* Reads more bytes after the present ones; drops the lines that were given already. */
static cla_status read_more(cla_line_stream *s)
{
    enum { STEP = 1 << 16 };
    if (s->end - s->at >= CLA_LINE_BYTES) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: a line of more than %d bytes", s->path,
                        s->number + 1, CLA_LINE_BYTES);
    }
    if (s->at) {
        memmove(s->data, s->data + s->at, s->end - s->at);
        s->end -= s->at;
        s->at = 0;
    }
    CLA_TRY(cla_grow(&s->data, &s->cap, s->end + STEP + 1, 1));
    ssize_t got = 0;
    do {
        got = read(s->fd, s->data + s->end, STEP);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return fail_io("read", s->path);
    }
    s->done = got == 0;
    s->end += (size_t)got;
    return CLA_OK;
}

/* Finds the size of the line at s->at, its end included; 0 when there is none. */
static cla_status find_line(cla_line_stream *s, size_t *size)
{
    for (size_t seen = 0;;) {
        const size_t left = s->end - s->at;
        const char *end =
            left > seen ? memchr(s->data + s->at + seen, '\n', left - seen) : NULL;
        if (end || s->done) {
            *size = end ? (size_t)(end - s->data) + 1 - s->at : left;
            return CLA_OK;
        }
        seen = left;
        CLA_TRY(read_more(s));
    }
}

cla_status cla_lines_next(cla_line_stream *s, char **text, size_t *size)
{
    const size_t mark = sizeof BYTE_ORDER_MARK - 1;
    *text = NULL;
    CLA_TRY(find_line(s, size));
    if (!*size) {
        return CLA_OK;
    }
    char *line = s->data + s->at;
    s->at += *size;
    if (++s->number == 1 && *size >= mark && memcmp(line, BYTE_ORDER_MARK, mark) == 0) {
        line += mark;
        *size -= mark;
        if (!*size) {
            return CLA_OK; // a byte order mark alone is no line
        }
    }
    const size_t whole = *size;
    const bool ended = whole && line[whole - 1] == '\n';
    if (!ended) {
        line[whole] = 0; // the last line of the stream: there is room for one byte
    }
    CLA_TRY(cla_line_check(s->path, s->number, line, size));
    s->carriage = whole - *size > ended;
    *text = line;
    return CLA_OK;
}

cla_status cla_lines_each(const char *path, cla_take_line *take, void *to)
{
    cla_line_stream s;
    CLA_TRY(cla_lines_open(&s, path));
    cla_status status = CLA_OK;
    for (;;) {
        char *text = NULL;
        size_t size = 0;
        status = cla_lines_next(&s, &text, &size);
        if (status || !text) {
            break;
        }
        status = take(to, s.number, text, size);
        if (status) {
            break;
        }
    }
    cla_lines_close(&s);
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
