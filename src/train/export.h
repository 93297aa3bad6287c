/* export.h - a model without what only training needs. */
#pragma once

#include "base/base.h"

/* Writes the folder out: settings, vocabularies and the best state's parameters of a
 * run, without the optimiser's, as halves if asked.
 *
 * signal   in   set by a handler: stop, with CLA_E_IO; may be NULL
 * numbers  out  of the parameters
 *
 * Nothing of it stays in out after a failure.
 * Errors: CLA_E_USAGE (out holds a run), CLA_E_INPUT (no run; damage; a link out of
 * the run's folder; a parameter that a half cannot hold), CLA_E_NUMERIC (a parameter
 * that is not finite), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_export(const char *run, bool half, const char *out,
                      volatile const int *signal, int64_t *numbers);
