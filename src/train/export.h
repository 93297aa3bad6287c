/* export.h - a model without what only training needs. */
#pragma once

#include "base/base.h"

/* Writes the folder out: settings, vocabularies and the best state's parameters of a
 * run, without the optimiser's, as halves if asked.
 *
 * numbers  out  of the parameters
 *
 * Errors: CLA_E_USAGE (out holds a run), CLA_E_INPUT (no run; a parameter that a half
 * cannot hold), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_export(const char *run, bool half, const char *out, int64_t *numbers);
