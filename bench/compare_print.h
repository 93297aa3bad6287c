/* compare_print.h - prints comparisons of cases as a table or as JSON. */
#pragma once

#include "bench/compare.h"
#include "bench/identity.h"

/* The comparison of one case. ratio is the speed-up a / b; without rounds its interval
 * is a point. a and b are rows of both files, or the same row for programs. */
typedef struct bench_compared {
    const bench_result *a, *b;
    double a_ms, b_ms;
    bench_interval ratio;
    bench_verdict verdict;
    int rounds;  // 0: two files
    bool failed; // two files: slower by more than --fail-if-slower and both ranges
} bench_compared;

typedef struct bench_compare_totals {
    int pairs, only_a, only_b;
    int verdict[BENCH_VERDICTS];
    int slower;             // by more than --fail-if-slower
    bool several;           // more than one device: the table names each
    const bench_result *on; // of the last device that the table named
} bench_compare_totals;

/* Warns of rows that occur twice. Prints the names of files and devices and the table's
 * heading; not for JSON. Errors: CLA_E_NOMEM. */
cla_status bench_compare_heading(const bench_compare_options *o, const bench_results *a,
                                 const bench_results *b);
/* Prints the case and adds it to sum. Errors: CLA_E_NOMEM. */
cla_status bench_compare_print(const bench_compare_options *o, const bench_compared *c,
                               bench_compare_totals *sum);
/* Prints the geometric mean of all cases and the number of each verdict; nothing for
 * JSON. */
cla_status bench_compare_end(const bench_compare_options *o,
                             const bench_compare_totals *sum,
                             const bench_interval *mean);
