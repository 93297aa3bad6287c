/* checkpoint.h - the state of a run in one safetensors file, written completely or not
 * at all. */
#pragma once

#include "base/safetensors.h"
#include "train/optim.h"
#include "train/task.h"

/* The progress of a run, beside weights and moments. */
typedef struct cla_progress {
    int64_t step;  // finished updates
    int64_t epoch; // finished epochs
    int64_t next;  // finished examples of the current epoch
    int64_t stale; // evaluations since the best
    double best;   // best score; meaningless while best_step is 0
    int64_t best_step;
    double loss_sum, loss_weight; // since the last report
    double first_loss; // of the first step; 0: unknown (a state of an older version)
    int64_t high;      // consecutive steps with a loss far above it (train/guard.h)
    bool finished;
} cla_progress;

/* Reads the progress from an open state and checks the range of each number.
 * Errors: CLA_E_INPUT (path, key, value and range), CLA_E_NOMEM. */
cla_status cla_checkpoint_progress(const cla_st_file *file, const char *path,
                                   cla_progress *progress);

/* Writes a state to path. optim may be NULL (weights only).
 * Errors: CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_checkpoint_save(const char *path, const cla_params *params,
                               const cla_optim *optim, const cla_progress *progress);

/* Copies the parameters of an open state, converted to the type that params has.
 * Changes nothing unless all names and shapes fit; the file's numbers are undefined
 * afterwards (cla_st_release). Errors: those of cla_checkpoint_load. */
cla_status cla_checkpoint_take(const cla_st_file *file, const char *path,
                               cla_params *params);

/* Reads path into parameters, moments and progress (the last two may be NULL). Changes
 * nothing unless all names and shapes fit.
 * Errors: CLA_E_INPUT (damage; a missing tensor or a wrong shape: names the tensor; a
 * surplus tensor, with optim; a number of the progress that no run can have),
 * CLA_E_NUMERIC (numbers that are not finite), CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_checkpoint_load(const char *path, cla_params *params, cla_optim *optim,
                               cla_progress *progress);
