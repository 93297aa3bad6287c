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
    cla_text json;
};

/* The timings of one case: milliseconds of one run each. */
typedef struct bench_samples {
    double *ms;
    int count;
    size_t cap;
    int runs; // in all
} bench_samples;

/* sample.c: warms up, then times at least 10 samples and 0.3 s of them (--quick: 5 and
 * 0.05 s), each a batch of runs that takes milliseconds. */
cla_status bench_sample(const bench *b, const bench_case *c, bench_samples *out);

/* report.c: a row on stdout, in the JSON text and in b->rows. c->provider is set. */
cla_status bench_record(bench *b, const bench_case *c, bench_samples *samples);
void bench_report_failure(bench *b, const bench_case *c, double nmse);
void bench_report_device(const bench *b); // what the run is on, before anything else
void bench_report_peaks(const bench *b);
/* An indented line below the rows. */
void bench_note(const bench *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Median of a case in milliseconds, of the fastest provider of our own; 0 when it was
 * not measured. */
double bench_median(const bench *b, const char *name);

/* suites.c */
cla_status bench_suites_check(const char *suite);          // NULL is fine
cla_status bench_suites_each(bench *b, const char *suite); // NULL: all
