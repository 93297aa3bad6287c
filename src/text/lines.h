/* lines.h - the lines of a UTF-8 text file; anything else is an error. */
#pragma once

#include "base/input.h"

typedef struct cla_line {
    const char *text; // NUL-terminated, without its line end
    size_t size;
} cla_line;

typedef struct cla_lines {
    char *path; // for messages
    char *data;
    cla_line *line;
    size_t count, cap;
} cla_lines;

/* Reads path, or standard input when it is "-", by the rules of base/input.h. Errors:
 * those of cla_scan_line, CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_lines_read(cla_lines *lines, const char *path);
void cla_lines_free(cla_lines *lines);

/* The longest line of a stream in bytes, line end included. */
enum { CLA_LINE_BYTES = 1 << 26 };

/* A file read line by line. It may be a pipe or larger than memory. */
typedef struct cla_line_stream {
    const char *path; // for messages
    int fd;
    bool opened; // fd is ours to close
    char *data;  // [cap]; at..end is not returned yet
    size_t at, end, cap;
    size_t number; // of the last returned line, from 1
    bool carriage; // that line ended in CR LF
    bool ended;    // that line had an end
    bool done;     // the end of the file was read
} cla_line_stream;

/* Opens path (it must outlive the stream), or standard input when it is "-". Close the
 * stream in any case. Errors: CLA_E_IO. */
cla_status cla_lines_open(cla_line_stream *stream, const char *path);

/* Returns the next line, checked as in cla_lines_read. The caller may change it; it is
 * valid until the next call. *text is NULL at the end of the file. A line is returned
 * as soon as it is complete. Errors: CLA_E_INPUT with path:line (also: longer than
 * CLA_LINE_BYTES), CLA_E_IO (a failed read is not the end), CLA_E_NOMEM. */
cla_status cla_lines_next(cla_line_stream *stream, char **text, size_t *size);
void cla_lines_close(cla_line_stream *stream);

/* Processes a line; number counts from 1. May change the text. */
typedef cla_status cla_take_line(void *to, size_t number, char *text, size_t size);

/* Calls take for each line of path and stops when it fails. Errors: those of
 * cla_lines_next and of take. */
cla_status cla_lines_each(const char *path, cla_take_line *take, void *to);
/* The same for each line that is not blank. */
cla_status cla_lines_filled(const char *path, cla_take_line *take, void *to);

/* Checks that both have the same number of lines. Errors: CLA_E_INPUT with path:line of
 * the first line without a counterpart. */
cla_status cla_lines_pair(const cla_lines *a, const cla_lines *b);
