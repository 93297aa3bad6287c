/* internal.h - inside of the harness. */
#pragma once

#include <regex.h>

#include "base/text.h"
#include "bench/bench.h"
#include "bench/harness.h"
#include "bench/peaks.h"
#include "bench/stats.h"

/* Largest squared error beside the squared result that passes for rounding in float. */
#define BENCH_NMSE 1e-9

/* One measured case under one provider. */
typedef struct bench_row {
    char name[128], provider[16];
    bench_stats ms;
} bench_row;

/* The figures of the case that was measured last. share: percent of the peaks. */
typedef struct bench_figures {
    const char *name, *provider;
    bench_stats ms;
    double gflops, gbs, share;
} bench_figures;

/* Which case a run has come to. */
typedef struct bench_progress {
    char name[128]; // of the case at hand
    int number, total;
    int64_t begun_ns, line_ns;
    bool terminal, drawn; // drawn: a line without its end stands on the terminal
} bench_progress;

struct bench {
    const bench_options *options;
    regex_t filter;
    bool filtered; // filter is compiled
    cla_runtime *rt;
    bench_peaks peaks; // of the device at hand, measured before its first case
    const char *suite; // whose heading was printed last
    bench_row *rows;   // of the device at hand
    size_t row_count, row_cap;
    uint32_t streams;  // of random numbers, handed out so far
    int shown, failed; // cases, over all devices
    const char *only;  // tuning: this case alone, under the schedule in force
    bool silent;       // and no rows on stdout
    int64_t deadline_ns;
    bool counting; // no case runs: bench_wants counts them
    bench_progress progress;
    bench_figures last;
    int columns; // of the table on stdout
    int file;    // takes the rows as JSON; -1: none
};

/* The timings of one case: milliseconds of one run each, in the order of measuring. */
typedef struct bench_samples {
    double *ms;
    int count;
    size_t cap;
    int runs; // in all
} bench_samples;

/* sample.c: warms up, then times at least 10 samples and 0.3 s of them (--quick: 5 and
 * 0.05 s), each a batch of runs that takes milliseconds. */
cla_status bench_sample(const bench *b, const bench_case *c, bench_samples *out);

/* report.c: a row on stdout, in the JSON file and in b->rows. c->provider is set. */
cla_status bench_record(bench *b, const bench_case *c, const bench_samples *samples);
void bench_report_failure(bench *b, const bench_case *c, double nmse);
void bench_report_device(const bench *b); // what the run is on, before anything else
void bench_report_peaks(bench *b);
/* An indented line below the rows. */
void bench_note(bench *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* table.c. Columns of the terminal that fd is, enough for the wide table where it is
 * none. */
int bench_columns(int fd);
/* A name in a column of this width; a longer one gets a line of its own. */
void bench_print_name(const char *name, int width);
void bench_print_heading(int columns, const char *suite);
void bench_print_row(int columns, const bench_figures *row);

/* rows.c: appends b->last as a line of JSON to the file of --json, which is emptied
 * before its first row. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status bench_rows_open(bench *b);
cla_status bench_rows_add(bench *b, const bench_case *c, const bench_samples *samples);
cla_status bench_rows_close(bench *b);
bool bench_on_device(const bench *b, const bench_case *c);

/* progress.c: the case at hand and the time left, on stderr. */
void bench_progress_begin(bench_progress *p); // keeps p->total
void bench_progress_case(bench_progress *p, const char *name);
/* Removes the line from the terminal: before anything else is printed. */
void bench_progress_clear(bench_progress *p);
/* For cla_runtime_on_save; context is a bench_progress. */
void bench_progress_saving(void *context, int number, int total);
/* ", about 40 s left" when done of total cases took spent_s; nothing before the first
 * one is done. */
void bench_progress_left(double spent_s, int done, int total, char *text, size_t size);

/* Median of a case in milliseconds, of the fastest provider of our own; 0 when it was
 * not measured. */
double bench_median(const bench *b, const char *name);

/* cases.c */
cla_status bench_cases(bench *b, const char *suite);

/* ops/custom_attention.c: refuses a score that is no expression over the inputs that
 * --custom has; NULL is fine. Errors: CLA_E_USAGE, CLA_E_NOMEM. */
cla_status bench_custom_check(const char *score);
/* The score of --custom, and plain attention beside it. */
cla_status bench_custom_score(bench *b, const char *score);

/* suites.c */
cla_status bench_suites_check(const char *suite);          // NULL is fine
cla_status bench_suites_each(bench *b, const char *suite); // NULL: all
