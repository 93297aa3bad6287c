/* lines.c - reads the lines of a text file, all at once or one by one. */
#include "text/lines.h"

#include <errno.h>
#include <string.h>

#include "base/platform.h"

static cla_status fail_io(const char *what, const char *path)
{
    const int error = errno;
    char reason[128];
    return cla_fail(CLA_E_IO, "%s: cannot %s: %s", path, what,
                    cla_os_reason(error, reason, sizeof reason));
}

/* Takes the lines of a text that l keeps. */
static cla_status cut_lines(cla_lines *l, cla_scan *scan)
{
    char *text = NULL;
    size_t size = 0;
    for (;;) {
        CLA_TRY(cla_scan_line(scan, &text, &size));
        if (!text) {
            return CLA_OK;
        }
        CLA_TRY(cla_grow(&l->line, &l->cap, l->count + 1, sizeof *l->line));
        l->line[l->count++] = (cla_line){ text, size };
    }
}

cla_status cla_lines_read(cla_lines *l, const char *path)
{
    cla_scan scan = { 0 };
    *l = (cla_lines){ 0 };
    cla_status status = cla_strdup(&l->path, cla_source_name(path, CLA_SOURCE_STDIN));
    status = status ? status : cla_scan_file(&scan, path, CLA_SOURCE_STDIN);
    l->data = scan.data;
    status = status ? status : cut_lines(l, &scan);
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
                            .fd = standard ? CLA_STDIN
                                           : cla_os_open(path, CLA_OPEN_READ, 0),
                            .opened = !standard };
    return s->fd < 0 ? fail_io("open", path) : CLA_OK;
}

void cla_lines_close(cla_line_stream *s)
{
    if (s->opened && s->fd >= 0) {
        cla_os_close(s->fd);
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
    int64_t got = 0;
    do {
        got = cla_os_read(s->fd, s->data + s->end, STEP);
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
    *text = NULL;
    CLA_TRY(find_line(s, size));
    if (!*size) {
        return CLA_OK;
    }
    char *line = s->data + s->at;
    s->at += *size;
    if (++s->number == 1) {
        const size_t mark = cla_mark_size(line, *size);
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
    s->carriage = ended && whole - *size > 1;
    s->ended = ended;
    if (!ended && s->number == 1) {
        CLA_TRY(cla_line_alone(s->path, line, *size));
    }
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

/* A reader that wants no blank lines. */
typedef struct filled {
    cla_take_line *take;
    void *to;
} filled;

static cla_status take_filled(void *to, size_t number, char *text, size_t size)
{
    const filled *f = to;
    return cla_line_is_blank(text, size) ? CLA_OK : f->take(f->to, number, text, size);
}

cla_status cla_lines_filled(const char *path, cla_take_line *take, void *to)
{
    filled f = { take, to };
    return cla_lines_each(path, take_filled, &f);
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
