/* compare_print.h - prints comparisons of cases as a table or as JSON. */
#pragma once

#include "bench/compare.h"
#include "bench/stats.h"

/* The comparison of one case. ratio is the speed-up a / b; without rounds its interval
 * is a point. */
typedef struct bench_compared {
    const char *name, *a_provider, *b_provider, *a_device, *b_device;
    double a_ms, b_ms;
    bench_interval ratio;
    bench_verdict verdict;
    int rounds;  // 0: two files
    bool failed; // two files: slower by more than --fail-if-slower and both ranges
} bench_compared;

typedef struct bench_compare_totals {
    int pairs, only_a, only_b;
    int verdict[BENCH_VERDICTS];
    int slower; // by more than --fail-if-slower
} bench_compare_totals;

/* Prints the names of files and devices and the table's heading; nothing for JSON. */
cla_status bench_compare_heading(const bench_compare_options *o, const char *a_device,
                                 const char *b_device);
/* Prints the case and adds it to sum. Errors: CLA_E_NOMEM. */
cla_status bench_compare_print(const bench_compare_options *o, const bench_compared *c,
                               bench_compare_totals *sum);
/* Prints the geometric mean of all cases and the number of each verdict; nothing for
 * JSON. */
cla_status bench_compare_end(const bench_compare_options *o,
                             const bench_compare_totals *sum,
                             const bench_interval *mean);
