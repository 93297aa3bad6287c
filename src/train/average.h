/* average.h - the mean of the states that runs kept, as a model of its own. */
#pragma once

#include "base/base.h"

typedef struct cla_averaged {
    int states;      // that went into the mean
    int64_t numbers; // of each
} cla_averaged;

/* Writes the folder out: the first run's settings and vocabularies, and for each
 * parameter the mean (in double precision) of the last states of each run.
 *
 * runs  in  [n] folders with one config, but for keep, and the same vocabularies
 * last  in  how many states of each run, the newest; 0: all it keeps
 * signal in set by a handler: stop, with CLA_E_IO; may be NULL
 *
 * Nothing of it stays in out after a failure.
 * Errors: CLA_E_USAGE (a run keeps fewer states or none, out holds a run), CLA_E_INPUT
 * (damage; configs, vocabularies, names or shapes that differ: the first of them),
 * CLA_E_NUMERIC (a parameter that is not finite), CLA_E_IO,
 * CLA_E_NOMEM. Source: Vaswani et al. 2017, 6.1. */
cla_status cla_average(const char *const *runs, int n, int last, const char *out,
                       volatile const int *signal, cla_averaged *averaged);
