/* command.h - composes the commands that repeat a run or one of its cases. */
#pragma once

#include "base/text.h"
#include "bench/harness.h"

/* A case to repeat, and where. */
typedef struct bench_repeat {
    const char *name;     // of the case
    const char *device;   // names the device for --device
    const char *schedule; // "tile" or "group" when the run takes both; else NULL
} bench_repeat;

/* Appends a command for a POSIX shell: the environment variables that change the
 * results or the list of devices, `clattn bench' and the words (count of them).
 * schedule takes the place of CLATTN_SCHEDULE unless it is NULL. Errors:
 * CLA_E_NOMEM. */
cla_status bench_command_add(cla_text *line, const char *const *words, int count,
                             const char *schedule);

/* Appends the command that repeats a case: with the options of the run, but the filter,
 * the device and the schedule of the case, and without --json. Errors: CLA_E_NOMEM. */
cla_status bench_command_repeat(cla_text *line, const bench_options *given,
                                const bench_repeat *one);

/* Appends the POSIX extended regular expression that matches name alone. Errors:
 * CLA_E_NOMEM. */
cla_status bench_command_filter(cla_text *pattern, const char *name);
