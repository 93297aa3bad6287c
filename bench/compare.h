/* compare.h - compares two files of `clattn bench --json`, or two programs, by case. */
#pragma once

#include <stdbool.h>

#include "clattn/status.h"

/* Relative differences of times below this are "same". */
#define BENCH_MARGIN 0.05

enum { BENCH_LEAST_ROUNDS = 6, BENCH_MOST_ROUNDS = 99 };

typedef struct bench_compare_options {
    const char *a, *b;     // files, or programs; a is the baseline of b
    const char *provider;  // preferred where a file has it; NULL: see bench_compare
    bool json;             // print an object a line instead of the table
    double fail_if_slower; // 0.05: count the cases that are slower by more than 5 %
    bool run;              // a and b are programs
    int rounds;            // from BENCH_LEAST_ROUNDS on: fewer have no 95 % interval
    const char *suite, *filter, *device; // bench_options of the programs; may be NULL
    bool quick;
} bench_compare_options;

/* Prints, for each case that both files have, the medians, the speed-up a / b and the
 * verdict of bench_stats_verdict with BENCH_MARGIN; then the geometric mean of the
 * speed-ups. *slower counts the cases that are slower by more than fail_if_slower and
 * both interquartile ranges.
 *
 * Of several providers of a case the preferred one counts, else the faster of "tile"
 * and "group", else the fastest (the file of another framework).
 *
 * Errors: CLA_E_IO, CLA_E_INPUT (file and line; no case in common), CLA_E_NOMEM. */
cla_status bench_compare(const bench_compare_options *options, int *slower);

/* Runs both programs in turns and compares their medians round by round. The verdict is
 * that of bench_verdict_of with BENCH_MARGIN on the 95 % confidence interval of the
 * median ratio of the rounds. *slower counts the cases whose whole interval is slower
 * by more than fail_if_slower.
 * Errors: CLA_E_IO, CLA_E_INPUT (a program failed or printed no rows; no case in
 * common), CLA_E_NOMEM. */
cla_status bench_compare_run(const bench_compare_options *options, int *slower);
