/* compare.h - two files of `clattn bench --json`, case by case. */
#pragma once

#include <stdbool.h>

#include "clattn/status.h"

typedef struct bench_compare_options {
    const char *a, *b;    // files; a is what b is measured against
    const char *provider; // taken where a file has it for a case; NULL: the fastest
    bool json;            // an object a line in place of the table
} bench_compare_options;

/* Prints each case that both files have: medians, how many times as fast b is, and a
 * verdict; *differing counts the cases whose medians differ by more than both
 * interquartile ranges and 5 %.
 *
 * A file with several providers for a case contributes the faster of "tile" and
 * "group", or of all where it has neither (the file of another framework).
 *
 * Errors: CLA_E_IO, CLA_E_INPUT (naming file and line; no case in common),
 * CLA_E_NOMEM. */
cla_status bench_compare(const bench_compare_options *options, int *differing);
