/* tune.h - the search for the constants that suit a device. */
#pragma once

#include "clattn/status.h"

typedef struct bench_tune_options {
    const char *device; // as cla_runtime_new
    double seconds;     // no candidate is begun after that
} bench_tune_options;

/* Tries each knob's values on its own benchmark case: a wrong result is never timed,
 * and what is kept beats the constant in force by more than noise. Prints candidates
 * and winners on stdout, then writes the tuning file, whole or not at all.
 *
 * Errors: CLA_E_USAGE (no such device), CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status bench_tune(const bench_tune_options *options);
