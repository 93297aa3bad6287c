/* harness.h - the benchmark's interface for the command line. */
#pragma once

#include "clattn/clattn.h"

typedef struct bench_options {
    const char *device;    // as for cla_runtime_new, or "all"
    const char *precision; // word of cla_precision_read; NULL: CLATTN_PRECISION
    const char *suite;     // NULL: all
    const char *filter;    // POSIX extended regular expression on case names; NULL: all
    const char *custom;    // times this score of cla_attention_mod alone; NULL: none
    const char *json;      // file; "-": stdout, instead of the table; NULL: none
    bool quick;            // fewer and smaller cases, shorter timing
    bool verify;           // check results; a wrong case is not timed
    const char *program;   // this executable, for the start-up suite
    const char *commit;    // commit of the build; NULL or empty: unknown
    const char *command;   // command that repeats the run, for the rows; NULL: unknown
} bench_options;

/* Runs the suites on one device or on all and prints a table on stdout and progress on
 * stderr. *failed counts the cases that failed verification. Each row is written to the
 * JSON file as soon as it is measured, so an interrupted run keeps its rows. The file
 * is emptied before its first row.
 *
 * Errors: CLA_E_USAGE (unknown suite, bad filter or expression, no such device, no
 * matching case), CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status bench_suites_run(const bench_options *options, int *failed);

/* Returns the names of the suites in order, "softmax gemm ...", in a static buffer. */
const char *bench_suite_names(void);

/* Does the work of a child process of the start-up suite: opens device, computes a
 * small attention and prints on stdout the number of programs compiled from source. */
cla_status bench_startup_child(const char *device);
