/* tune.h - searches the kernel constants that are fastest on a device. */
#pragma once

#include "clattn/status.h"

typedef struct bench_tune_options {
    const char *device; // as for cla_runtime_new
    double seconds;     // no candidate starts after that time
} bench_tune_options;

/* Tries the values of each constant on a benchmark case of its own. A candidate with a
 * wrong result is not timed; a winner must beat the constant in force by more than
 * noise. Prints candidates and winners on stdout, then writes the tuning file, whole or
 * not at all.
 *
 * Errors: CLA_E_USAGE (no such device), CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status bench_tune(const bench_tune_options *options);
