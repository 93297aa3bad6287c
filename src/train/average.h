/* average.h - averages the states that runs kept into a new model. */
#pragma once

#include "base/base.h"

typedef struct cla_averaged {
    int states;      // in the mean
    int64_t numbers; // in each state
} cla_averaged;

/* Writes a model to the folder out: settings and vocabularies of the first run, and for
 * each parameter the mean (in double precision) over the newest states of each run.
 *
 * runs    in  [n] folders with the same vocabularies and no cla_settings_difference
 * last    in  number of states of each run, the newest; 0: all kept states
 * signal  in  set by a handler: stop, with CLA_E_IO; may be NULL
 *
 * Leaves nothing of it in out after a failure.
 * Errors: CLA_E_USAGE (a run keeps fewer states or none, out holds a run), CLA_E_INPUT
 * (damage; settings, vocabularies, names or shapes that differ: names the first),
 * CLA_E_NUMERIC (a parameter that is not finite), CLA_E_IO,
 * CLA_E_NOMEM. Source: Vaswani et al. 2017, 6.1. */
cla_status cla_average(const char *const *runs, int n, int last, const char *out,
                       volatile const int *signal, cla_averaged *averaged);
