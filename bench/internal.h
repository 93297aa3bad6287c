/* internal.h - internals of the harness. */
#pragma once

#include "base/platform.h"
#include "base/text.h"
#include "bench/bench.h"
#include "bench/beside.h"
#include "bench/harness.h"
#include "bench/load.h"
#include "bench/peaks.h"
#include "bench/stats.h"
#include "runtime/runtime.h"

/* Returns the tolerance of verification: squared error over squared result (NMSE), for
 * the rounding of the precision in force. */
static inline double bench_nmse(const cla_runtime *rt)
{
    return cla_precision_limit(rt, 1e-9);
}

/* A measured case under one provider. */
typedef struct bench_row {
    char name[128], provider[16];
    bench_stats ms;
} bench_row;

/* Figures of the last measured case. share: per cent of the peaks. */
typedef struct bench_figures {
    const char *name, *provider;
    bench_stats ms;
    double gflops, gbs, share;
    bool verified; // the result was checked, and is right
} bench_figures;

/* Progress of a run. */
typedef struct bench_progress {
    char name[128]; // of the current case
    int number, total;
    int64_t begun_ns, line_ns;
    bool terminal, drawn; // drawn: the terminal shows a progress line
} bench_progress;

/* Sums over the rows of a device, for the lines below its table. */
typedef struct bench_sums {
    int64_t begun_ns;
    int cases, wrong;
    double check_s, first_s;      // seconds of checks, and of first runs
    int above_flops, above_bytes; // rows above 100 % of a peak
    bench_load load;              // the highest that disturbed a row
} bench_sums;

struct bench {
    const bench_options *options;
    cla_pattern *filter;
    cla_runtime *rt;
    bench_peaks peaks; // of the current device, measured before its first case
    const char *suite; // of the last printed heading
    bench_row *rows;   // of the current device
    size_t row_count, row_cap;
    uint32_t streams;    // random streams used so far
    int shown, failed;   // cases, over all devices
    bool verified;       // the current case was checked
    bench_sums sums;     // of the current device
    bench_beside beside; // of all devices
    const char *only;    // tuning: run this case alone, under the schedule in force
    bool silent;         // print and write no rows
    int64_t deadline_ns; // of tuning
    bool counting;       // no case runs: bench_wants counts them
    bench_progress progress;
    bench_figures last;
    int columns; // width of the table on stdout
    int file;    // descriptor of the JSON rows; -1: not open
};

/* Timings of a case. */
typedef struct bench_samples {
    double *ms; // [count] milliseconds of one run, in the order of measurement
    int count;
    size_t cap;
    int runs;        // of all samples
    double first_ms; // of the first run, beyond the fastest later one
} bench_samples;

/* sample.c: warms up for 60 ms (--quick: 20 ms), then takes samples until it has 10 and
 * 0.3 s (--quick: 5 and 0.05 s), or 3 and 5 s (--quick: 3 and 0.3 s). A sample is a
 * batch of runs that takes milliseconds. */
cla_status bench_sample(const bench *b, const bench_case *c, bench_samples *out);

/* report.c: adds a row to the table, to the JSON file and to b->rows. Needs
 * c->provider. */
cla_status bench_record(bench *b, const bench_case *c, const bench_samples *samples);
void bench_report_failure(bench *b, const bench_case *c, double nmse);
void bench_report_device(const bench *b); // printed before anything else
void bench_report_peaks(bench *b);
/* Prints below the rows of a device what to know of them: shares above 100 %, other
 * work, and the time that the run took. */
void bench_report_end(bench *b);
/* Prints the devices beside each other. */
void bench_report_devices(bench *b);
/* Prints an indented line below the rows. */
void bench_note(bench *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* table.c: returns the width of the terminal fd; when it is none, that of the wide
 * table. */
int bench_columns(int fd);
/* Prints a name in a column of this width; a longer one gets a line of its own. */
void bench_print_name(const char *name, int width);
void bench_print_heading(int columns, const char *suite);
void bench_print_row(int columns, const bench_figures *row);

/* rows.c: open creates or empties the file of --json unless it is open; add opens it
 * and appends b->last as a line of JSON. Without --json they do nothing. Errors:
 * CLA_E_IO, CLA_E_NOMEM. */
cla_status bench_rows_open(bench *b);
cla_status bench_rows_add(bench *b, const bench_case *c, const bench_samples *samples);
cla_status bench_rows_close(bench *b);
/* Returns whether the case runs on b's device: not on the host, or the device is a CPU.
 */
bool bench_on_device(const bench *b, const bench_case *c);

/* progress.c: shows the current case and the remaining time on stderr. */
void bench_progress_begin(bench_progress *p); // keeps p->total
void bench_progress_case(bench_progress *p, const char *name);
/* Removes the progress line from the terminal. Call it before printing. */
void bench_progress_clear(bench_progress *p);
/* A callback of cla_runtime_on_save; context is a bench_progress. */
void bench_progress_saving(void *context, int number, int total);
/* Writes ", about 40 s left" to text [size] when `done` of `total` cases took spent_s
 * seconds; the empty text when none is done. */
void bench_progress_left(double spent_s, int done, int total, char *text, size_t size);

/* harness.c: returns whether a case of clattn runs under both schedules. */
bool bench_takes_both(const bench *b);

/* Returns the median of a case in milliseconds under the faster of tile and group; 0
 * when it was not measured. */
double bench_median(const bench *b, const char *name);

/* cases.c: runs the rows of a suite. */
cla_status bench_cases(bench *b, const char *suite);

/* ops/custom_attention.c: checks that the score is an expression over the inputs of
 * --custom, or NULL. Errors: CLA_E_USAGE, CLA_E_NOMEM. */
cla_status bench_custom_check(const char *score);
/* Times attention with the score of --custom, and plain attention for comparison. */
cla_status bench_custom_score(bench *b, const char *score);

/* suites.c: check rejects unknown names (CLA_E_USAGE); each runs a suite, or the score
 * of --custom. NULL: all suites. */
cla_status bench_suites_check(const char *suite);
cla_status bench_suites_each(bench *b, const char *suite);
