/* report.h - reads results, runs and verifications and writes them as one HTML page. */
#pragma once

#include <jansson.h>

#include "base/text.h"
#include "bench/results.h"

enum { REPORT_FILES = 32 };

typedef enum report_kind {
    REPORT_NOTHING, // no line can be shown
    REPORT_BENCH,   // rows of `clattn bench --json'
    REPORT_RUN,     // lines of a run's log.jsonl
    REPORT_VERIFY,  // lines of `clattn verify --json'
} report_kind;

/* A line of JSON on the page. */
typedef struct report_line {
    const char *text; // of the file's data, `size` bytes
    size_t size;
    int number;  // from 1
    bool scores; // of a run: an evaluation, else a loss
} report_line;

/* A picture in a run's folder. */
typedef struct report_map {
    char *name, *svg;
    size_t size; // of svg
} report_map;

typedef struct report_file {
    const char *path; // given by the user
    cla_text log;     // the file that was read
    report_kind kind;
    char *data;
    report_line *line;
    size_t count, cap;
    bench_results results; // REPORT_BENCH: row i is line i
    json_t *config;        // REPORT_RUN: the settings, or NULL
    report_map *map;       // REPORT_RUN
    size_t map_count, map_cap;
    int refused; // lines that could not be shown
} report_file;

typedef struct report {
    const char *provider; // of `bench compare'; may be NULL
    const char *command;  // the command line of this report
    report_file file[REPORT_FILES];
    int count;
    int stride;       // every n-th sample of results is shown
    json_t *notes;    // messages for the reader, [{text, left_out}]
    cla_status first; // status of the first thing left out
} report;

/* Adds a note with the text of cla_error() about something that is left out for the
 * reason `why`. The report goes on without it. Errors: CLA_E_NOMEM. */
cla_status cli_report_leave_out(report *r, cla_status why);
/* Adds a note about something that is shown. Errors: CLA_E_NOMEM. */
cla_status cli_report_note(report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads a file of results, a run's log or its folder into r->file[r->count++]. A fault
 * of the input becomes a note. Errors: CLA_E_NOMEM. */
cla_status cli_report_read(report *r, const char *path);
/* Reads the settings and pictures beside a run's log. Errors: CLA_E_NOMEM. */
cla_status cli_report_read_run(report *r, report_file *f, const char *folder);
void cli_report_fini(report *r);

/* Appends the results as JSON, and the comparison of each file of results with the
 * first. Errors: CLA_E_NOMEM. */
cla_status cli_report_bench(report *r, cla_text *out);
/* Appends the runs as JSON. Errors: CLA_E_NOMEM. */
cla_status cli_report_runs(report *r, cla_text *out);
/* Appends the lines of `clattn verify --json'. Errors: CLA_E_NOMEM. */
cla_status cli_report_verify(report *r, cla_text *out);
/* Appends a JSON value (consumed; NULL means out of memory). Errors: CLA_E_NOMEM. */
cla_status cli_report_json(cla_text *out, json_t *value);

/* Appends the whole page. Errors: CLA_E_NOMEM. */
cla_status cli_report_page(report *r, cla_text *out);

/* The files of src/cli/report/, in a table that tools/embed.c writes. */
typedef struct report_page_file {
    const char *name;          // "style.css"; NULL ends the table
    const unsigned char *text; // NUL-terminated
} report_page_file;
extern const report_page_file report_page_files[];
