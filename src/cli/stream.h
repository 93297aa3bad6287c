/* stream.h - reads standard input line by line, for commands that answer it. */
#pragma once

#include "cli/cli.h"
#include "text/lines.h"

/* The callbacks of a command. */
typedef struct cli_stream {
    /* Takes a line; at->number counts it from 1. May change the text. */
    cla_status (*take)(void *to, const cla_line_stream *at, char *text, size_t size);
    /* Answers all lines that were taken and not answered yet. ended is false after a
     * line that was refused. NULL: take answers. */
    cla_status (*finish)(void *to, bool ended);
    void *to;
} cli_stream;

/* Calls take for every line, then finish: also after a refused line, so that the lines
 * before it are answered. Fails with the first error. On a terminal stderr shows
 * progress from the third second on, unless stdout is a terminal too. Errors: those of
 * cla_lines_next, take and finish. */
cla_status cli_stream_run(const cli_stream *stream);

/* Shows progress on such a terminal, at most once a second: done out of all, or of an
 * unknown number when all is 0. cli_progress_alone is for commands that write nothing
 * to stdout meanwhile, and shows it there, too. cli_progress_end clears the line. */
void cli_progress(size_t done, size_t all, const char *unit);
void cli_progress_alone(size_t done, size_t all, const char *unit);
void cli_progress_end(void);
