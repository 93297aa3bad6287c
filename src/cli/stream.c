/* stream.c - reads standard input line by line, and shows progress on stderr. */
#include "cli/stream.h"

#include <stdio.h>

#include "base/platform.h"

/* ---- progress ---------------------------------------------------------------- */

enum { QUIET_S = 2 };

static struct {
    int64_t started_ns, last_ns; // 0: not started, not shown
    bool shown;                  // the terminal shows a line
} progress;

/* mixed: stdout is a terminal, too, whose lines this one would disturb. */
static void show(size_t done, size_t all, const char *unit, bool mixed)
{
    const int64_t second = 1000000000, now = cla_time_ns();
    if (!progress.started_ns) {
        progress.started_ns = now;
    }
    const int64_t spent = now - progress.started_ns;
    if (spent < QUIET_S * second || now - progress.last_ns < second) {
        return;
    }
    progress.last_ns = now;
    if (mixed || !cla_os_is_terminal(CLA_STDERR)) {
        return;
    }
    progress.shown = true;
    fprintf(stderr, "\r%zu", done);
    if (all) {
        fprintf(stderr, " of %zu", all);
    }
    fprintf(stderr, " %s, %lld s\033[K", unit, (long long)(spent / second));
}

void cli_progress(size_t done, size_t all, const char *unit)
{
    show(done, all, unit, cla_os_is_terminal(CLA_STDOUT));
}

void cli_progress_alone(size_t done, size_t all, const char *unit)
{
    show(done, all, unit, false);
}

void cli_progress_end(void)
{
    if (progress.shown) {
        fprintf(stderr, "\r\033[K");
        progress.shown = false;
    }
}

/* ---- standard input ---------------------------------------------------------- */

static cla_status read_all(const cli_stream *s, cla_line_stream *lines)
{
    for (;;) {
        char *text = NULL;
        size_t size = 0;
        CLA_TRY(cla_lines_next(lines, &text, &size));
        if (!text) {
            return CLA_OK;
        }
        CLA_TRY(s->take(s->to, lines, text, size));
        cli_progress(lines->number, 0, "lines");
    }
}

/* Answers the remaining lines; an earlier error stays the error. */
static cla_status finish_after(const cli_stream *s, cla_status before)
{
    char *said = NULL;
    if (!before) {
        return s->finish(s->to, true);
    }
    CLA_TRY(cla_strdup(&said, cla_error()));
    s->finish(s->to, false);
    cla_fail(before, "%s", said);
    free(said);
    return before;
}

cla_status cli_stream_run(const cli_stream *s)
{
    cla_line_stream lines;
    cla_status status = cla_lines_open(&lines, "-");
    cli_progress(0, 0, "lines");
    status = status ? status : read_all(s, &lines);
    status = s->finish ? finish_after(s, status) : status;
    cla_lines_close(&lines);
    cli_progress_end();
    return status;
}
