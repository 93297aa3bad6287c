/* input.h - the front of every reader of text: UTF-8, byte order mark, line ends and
 * line numbers. base/json.h is that of JSON; base/readers.h lists the readers.
 *
 * A byte order mark at the start of a text is not part of it. A line ends in LF or
 * CR LF, which the last one may lack; any other CR is a character. Lines count from
 * 1. */
#pragma once

#include "base/text.h"

/* What a path may be. */
typedef enum cla_source {
    CLA_SOURCE_FILE,  // a regular file, or a descriptor in /dev
    CLA_SOURCE_PIPE,  // or a FIFO, whose writer is waited for
    CLA_SOURCE_STDIN, // or "-", standard input
} cla_source;

/* Returns path, or "standard input" for the "-" that stands for it. */
const char *cla_source_name(const char *path, cla_source source);

/* Returns whether a line holds nothing but blanks, tabs and CR. */
bool cla_line_is_blank(const char *line, size_t size);

/* Reads all of a text, without its byte order mark, as cla_file_read does. Errors:
 * CLA_E_INPUT with path:line (not UTF-8, a NUL byte), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_text_read(char **text, size_t *size, const char *path,
                         cla_source source);

/* Fails with CLA_E_INPUT and the line of a byte that no text has; `line` is the number
 * of the first line. */
cla_status cla_text_refuse(const char *path, size_t line, const char *text, size_t at);

/* A text whose lines are taken one by one. */
typedef struct cla_scan {
    const char *path; // for messages
    char *data;       // the caller's to free; NULL: it belongs to someone else
    char *at, *end;
    size_t number; // of the last line, from 1
    bool carriage; // it ended in CR LF
    bool ended;    // it had an end
} cla_scan;

/* Scans `size` bytes of text, behind which a NUL stands; lines change it in place. path
 * and before, the number of lines before the text, are for messages. */
cla_scan cla_scan_text(const char *path, size_t before, char *text, size_t size);
/* Scans a file, which the scan keeps as data. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_scan_file(cla_scan *scan, const char *path, cla_source source);

/* Gives the next line, which ends with a NUL; *line is NULL behind the last. Errors:
 * CLA_E_INPUT with path:line (not UTF-8; a NUL byte; a text whose lines end in CR). */
cla_status cla_scan_line(cla_scan *scan, char **line, size_t *size);
/* Gives the next line that is not blank. */
cla_status cla_scan_filled(cla_scan *scan, char **line, size_t *size);

/* Removes the line end from *size and checks the rest of the line. number, from 1, is
 * for messages. Errors: CLA_E_INPUT with path:number. */
cla_status cla_line_check(const char *path, size_t number, char *line, size_t *size);

/* Refuses the only line of a text when it holds a CR: such files have lines that end in
 * CR alone. Errors: CLA_E_INPUT. */
cla_status cla_line_alone(const char *path, const char *line, size_t size);
