/* harness.h - the benchmark as the command line sees it. */
#pragma once

#include "clattn/clattn.h"

typedef struct bench_options {
    const char *device;  // as cla_runtime_new, or "all"
    const char *suite;   // NULL: all
    const char *filter;  // POSIX extended regular expression on case names; NULL: all
    const char *custom;  // a score of cla_attention_mod, timed alone; NULL: none
    const char *json;    // file, "-" for stdout in place of the table; NULL: none
    bool quick;          // fewer, smaller and shorter
    bool verify;         // no speed for a case whose result is wrong
    const char *program; // this executable, for the start-up suite
    const char *commit;  // that the program was built from; NULL or empty: not known
    const char *command; // that repeats the run, for the rows; NULL: not known
} bench_options;

/* Runs the suites on one device or on all and prints a table on stdout; *failed counts
 * the cases that failed verification. Each row goes into the JSON file as soon as it is
 * measured: a run that is stopped keeps what it has. The file is emptied before its
 * first row. What the run has come to is written on stderr.
 *
 * Errors: CLA_E_USAGE (unknown suite, bad filter or expression, no such device),
 * CLA_E_IO,
 * CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status bench_suites_run(const bench_options *options, int *failed);

/* "softmax gemm ...", in their order; the text is the function's. */
const char *bench_suite_names(void);

/* What a child process of the start-up suite does: opens device, computes a small
 * attention, and says on stdout how many programs it had to compile. */
cla_status bench_startup_child(const char *device);
