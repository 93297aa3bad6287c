/* results.h - reads the rows of `clattn bench --json`. */
#pragma once

#include <jansson.h>

#include "base/text.h"
#include "bench/stats.h"
#include "clattn/status.h"

typedef struct bench_result {
    json_t *object; // owns the strings
    const char *name, *provider, *device;
    const char *uuid, *driver; // of the device; NULL: unknown
    int index;                 // of the device; -1: unknown
    bench_stats ms;
} bench_result;

typedef struct bench_results {
    const char *path; // for messages; the caller's
    bench_result *rows;
    size_t count, cap;
} bench_results;

/* Read a file, or data: a NUL-terminated text, which is changed and which messages call
 * path. Keys that bench_result does not need may be missing or unknown. A last line
 * without line end that does not parse was cut off: it is skipped with a warning when
 * a row precedes it.
 * Errors: CLA_E_IO, CLA_E_INPUT (file and line; no row), CLA_E_NOMEM. */
cla_status bench_results_read(bench_results *t, const char *path);
cla_status bench_results_parse(bench_results *t, const char *path, char *data);
void bench_results_fini(bench_results *t);

/* Adds the row of a line's object and takes over the reference, also on failure. number
 * is that of the line. Errors: CLA_E_INPUT (file, line and key), CLA_E_NOMEM. */
cla_status bench_results_add(bench_results *t, json_t *object, int number);

/* Copies the samples of a row in the order of measurement; the caller frees *ms. *count
 * is 0 for a file without samples. Errors: CLA_E_NOMEM. */
cla_status bench_result_samples(const bench_result *row, double **ms, int *count);

/* Returns whether the provider is clattn's own schedule, tile or group. */
bool bench_result_is_own(const bench_result *row);
