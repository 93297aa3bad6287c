/* report.h - results and runs, read for one page of HTML. */
#pragma once

#include <jansson.h>

#include "base/text.h"
#include "bench/results.h"

enum { REPORT_FILES = 32 };

typedef enum report_kind {
    REPORT_NOTHING, // no line of it can be shown
    REPORT_BENCH,   // rows of `clattn bench --json'
    REPORT_RUN,     // lines of a run's log.jsonl
} report_kind;

/* A line of JSON that is shown. */
typedef struct report_line {
    const char *text; // of the file's data, `size` bytes
    size_t size;
    int number;  // from 1
    bool scores; // of a run: an evaluation, not a loss
} report_line;

/* A picture that lies in a run's folder. */
typedef struct report_map {
    char *name, *svg;
    size_t size; // of svg
} report_map;

typedef struct report_file {
    const char *path; // as the user named it
    cla_text log;     // the file that was read
    report_kind kind;
    char *data;
    report_line *line;
    size_t count, cap;
    bench_results results; // REPORT_BENCH: row i is line i
    json_t *config;        // REPORT_RUN: its settings, or NULL
    report_map *map;       // REPORT_RUN
    size_t map_count, map_cap;
    int refused; // lines that could not be shown
} report_file;

typedef struct report {
    const char *provider; // of `bench compare'; may be NULL
    const char *command;  // that writes this report
    report_file file[REPORT_FILES];
    int count;
    int stride;       // every n-th sample of results is shown
    json_t *notes;    // what the reader of the page must know, [{text, left_out}]
    cla_status first; // of what was left out
} report;

/* Adds a note with cla_error() as its text: what is left out for the reason `why`. The
 * report goes on without it. Errors: CLA_E_NOMEM. */
cla_status cli_report_leave_out(report *r, cla_status why);
/* Adds a note about something that is shown. Errors: CLA_E_NOMEM. */
cla_status cli_report_note(report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads a file of results or a run's log or folder into the next place. What cannot be
 * read becomes a note. Errors: CLA_E_NOMEM. */
cla_status cli_report_read(report *r, const char *path);
/* The settings and pictures beside a run's log. Errors: CLA_E_NOMEM. */
cla_status cli_report_read_run(report *r, report_file *f, const char *folder);
void cli_report_fini(report *r);

/* Appends the results as JSON, and their comparisons with the first ones. Errors:
 * CLA_E_NOMEM. */
cla_status cli_report_bench(report *r, cla_text *out);
/* Appends the runs as JSON. Errors: CLA_E_NOMEM. */
cla_status cli_report_runs(report *r, cla_text *out);
/* Appends a JSON value (taken; NULL: there was no memory for it).
 * Errors: CLA_E_NOMEM. */
cla_status cli_report_json(cla_text *out, json_t *value);

/* Appends the whole page. Errors: CLA_E_NOMEM. */
cla_status cli_report_page(report *r, cla_text *out);

/* The table that tools/embed.c writes from src/cli/report/. */
typedef struct report_page_file {
    const char *name;          // "style.css"; NULL ends the table
    const unsigned char *text; // NUL-terminated
} report_page_file;
extern const report_page_file report_page_files[];
