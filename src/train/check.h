/* check.h - checks every file of a model folder against its hash. */
#pragma once

#include "base/base.h"

/* Receives the result for one file. verdict: "ok", "no hash" (an older version wrote
 * it), "not covered" (a log, a lock) or "BAD" (what is the reason). */
typedef void (*cla_check_say)(void *context, const char *verdict, const char *name,
                              const char *what);

/* Checks every file of the folder dir and calls say for each: config.json and the files
 * that it names, states (hash, layout, finite numbers, progress), and all others except
 * hidden files. Needs no device.
 *
 * bad  out  number of bad files
 *
 * Errors: that of the first bad file: CLA_E_INPUT (damage), CLA_E_NUMERIC (numbers that
 * are not finite), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_folder_check(const char *dir, cla_check_say say, void *context,
                            int *bad);
