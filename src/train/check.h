/* check.h - every file of a model's folder, held against its hash. */
#pragma once

#include "base/base.h"

/* What is told of one file. verdict: "ok", "no hash" (an older version wrote it),
 * "not covered" (a log, a lock), "BAD" (what says why). */
typedef void (*cla_check_say)(void *context, const char *verdict, const char *name,
                              const char *what);

/* Reads every file of the folder dir and tells of each: config.json and the files that
 * it names, states (hash, layout, finite numbers, progress), and whatever else lies
 * there. No device is needed.
 *
 * bad  out  how many files are
 *
 * Errors: of the first bad file: CLA_E_INPUT (damage), CLA_E_NUMERIC (numbers that are
 * not finite), CLA_E_IO; CLA_E_NOMEM. */
cla_status cla_folder_check(const char *dir, cla_check_say say, void *context,
                            int *bad);
