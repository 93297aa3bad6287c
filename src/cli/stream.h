/* stream.h - standard input line by line, for commands that answer it. */
#pragma once

#include "cli/cli.h"
#include "text/lines.h"

/* What a command does with standard input. */
typedef struct cli_stream {
    /* Takes a line; at->number counts it from 1. The text may be changed. */
    cla_status (*take)(void *to, const cla_line_stream *at, char *text, size_t size);
    /* Answers all that was taken and is not answered yet; ended is false after a line
     * that was refused. NULL: take answers. */
    cla_status (*finish)(void *to, bool ended);
    void *to;
} cli_stream;

/* Gives every line to take, then calls finish: after a line that is refused as well, so
 * that what came before it is answered. Fails with the first error. On a terminal
 * stderr shows how far it is, from the third second on, unless stdout is a terminal
 * too. Errors: those of cla_lines_next, take and finish. */
cla_status cli_stream_run(const cli_stream *stream);

/* Shows progress when the last time is a second ago; done out of all, or of an unknown
 * number when all is 0. cli_progress_end clears the line. */
void cli_progress(size_t done, size_t all, const char *unit);
void cli_progress_end(void);
