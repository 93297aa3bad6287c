/* compare.h - two files of `clattn bench --json`, or two programs, case by case. */
#pragma once

#include <stdbool.h>

#include "clattn/status.h"

/* Differences below this part of a time are "same". */
#define BENCH_MARGIN 0.05

enum { BENCH_LEAST_ROUNDS = 6, BENCH_MOST_ROUNDS = 99 };

typedef struct bench_compare_options {
    const char *a, *b;     // files, or programs; a is what b is measured against
    const char *provider;  // taken where a file has it for a case; NULL: the fastest
    bool json;             // an object a line in place of the table
    double fail_if_slower; // 0.05: cases that are slower by more than 5 % are counted
    bool run;              // a and b are programs
    int rounds;            // from BENCH_LEAST_ROUNDS on: fewer have no 95 % interval
    const char *suite, *filter, *device; // of bench; may be NULL
    bool quick;
} bench_compare_options;

/* Prints each case that both files have: medians, how many times as fast b is, and a
 * verdict: faster or slower when the medians differ by more than both interquartile
 * ranges and 5 %, same when they do not and both ranges are within 5 %, else unsure.
 * Then the geometric mean. *slower counts the cases that are slower by more than
 * fail_if_slower and both ranges.
 *
 * A file with several providers for a case contributes the faster of "tile" and
 * "group", or of all where it has neither (the file of another framework).
 *
 * Errors: CLA_E_IO, CLA_E_INPUT (naming file and line; no case in common),
 * CLA_E_NOMEM. */
cla_status bench_compare(const bench_compare_options *options, int *slower);

/* Runs both programs in turns, round by round, and compares the medians of a round. The
 * verdict is by the 95 % interval of the median of the rounds' ratios: faster or slower
 * where all of it is beyond 5 %, same where all of it is within 5 %, else unsure.
 * *slower counts the cases whose whole interval is slower by more than fail_if_slower.
 * Errors: CLA_E_IO, CLA_E_INPUT (a program failed or gave no rows), CLA_E_NOMEM. */
cla_status bench_compare_run(const bench_compare_options *options, int *slower);
