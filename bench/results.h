/* results.h - rows of `clattn bench --json', read back. */
#pragma once

#include <jansson.h>

#include "bench/stats.h"
#include "clattn/status.h"

typedef struct bench_result {
    json_t *object; // owns the texts
    const char *name, *provider, *device;
    bench_stats ms;
} bench_result;

typedef struct bench_results {
    const char *path; // for messages, the caller's
    bench_result *rows;
    size_t count, cap;
} bench_results;

/* Reads a file, or data (a NUL-terminated text that is changed) which messages call
 * path; keys that are not needed may be missing or unknown. A last line without its end
 * was cut off: it is left out, with a warning.
 * Errors: CLA_E_IO, CLA_E_INPUT (naming file and line, or no row), CLA_E_NOMEM. */
cla_status bench_results_read(bench_results *t, const char *path);
cla_status bench_results_parse(bench_results *t, const char *path, char *data);
void bench_results_fini(bench_results *t);

/* Adds a row from a line's object (taken also on failure). number: of the line.
 * Errors: CLA_E_INPUT (naming file, line and key), CLA_E_NOMEM. */
cla_status bench_results_add(bench_results *t, json_t *object, int number);

/* The samples of a row in the order of measuring; *count is 0 for files that have none.
 * The caller frees *ms. Errors: CLA_E_NOMEM. */
cla_status bench_result_samples(const bench_result *row, double **ms, int *count);

/* One of our own schedules: tile or group. */
bool bench_result_is_own(const bench_result *row);
