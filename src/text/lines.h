/* lines.h - a text file as lines, with everything refused that is no text. */
#pragma once

#include "base/text.h"

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

/* Reads path, or standard input when it is "-". Lines end in LF or CRLF, the last one
 * may lack it; a byte order mark is passed over. Errors: CLA_E_INPUT with path:line
 * (not UTF-8, a NUL byte), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_lines_read(cla_lines *lines, const char *path);
void cla_lines_free(cla_lines *lines);

/* The longest line that is read one by one, with its end, in bytes. */
enum { CLA_LINE_BYTES = 1 << 26 };

/* A file that is read line by line; it may be larger than memory, and a pipe. */
typedef struct cla_line_stream {
    const char *path; // for messages
    int fd;
    bool opened; // fd is ours to close
    char *data;  // [cap] of which at..end is not given yet
    size_t at, end, cap;
    size_t number; // of the line given last, from 1
    bool carriage; // that line ended in CR (LF)
    bool done;     // the end of the file was read
} cla_line_stream;

/* Opens path (it must outlive the stream), or standard input when it is "-". Close the
 * stream in any case. Errors: CLA_E_IO. */
cla_status cla_lines_open(cla_line_stream *stream, const char *path);

/* Gives the next line, checked as by cla_lines_read; it may be changed and is valid
 * until the next call. *text is NULL at the end. A line is given as soon as the file
 * has it. Errors: CLA_E_INPUT with path:line (also: longer than CLA_LINE_BYTES),
 * CLA_E_IO (a failed read is never taken for the end), CLA_E_NOMEM. */
cla_status cla_lines_next(cla_line_stream *stream, char **text, size_t *size);
void cla_lines_close(cla_line_stream *stream);

/* What is done with a line, its number from 1; it may change the text. */
typedef cla_status cla_take_line(void *to, size_t number, char *text, size_t size);

/* Gives the lines of such a stream one by one to take, and stops when that fails.
 * Errors: as above, and those of take. */
cla_status cla_lines_each(const char *path, cla_take_line *take, void *to);

/* Cuts the line end off *size and checks the rest; number, from 1, is for messages.
 * Errors: CLA_E_INPUT. */
cla_status cla_line_check(const char *path, size_t number, char *text, size_t *size);

/* Fails with path:line when the two differ in length, naming the first line without a
 * partner. Errors: CLA_E_INPUT. */
cla_status cla_lines_pair(const cla_lines *a, const cla_lines *b);
