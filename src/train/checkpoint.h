/* checkpoint.h - a run's state in one safetensors file, whole or not at all. */
#pragma once

#include "base/safetensors.h"
#include "train/optim.h"
#include "train/task.h"

/* Where a run stands, beside weights and moments. */
typedef struct cla_progress {
    int64_t step;  // updates done
    int64_t epoch; // epochs done
    int64_t next;  // examples of this epoch done
    int64_t stale; // evaluations since the best
    double best;   // best score; meaningless while best_step is 0
    int64_t best_step;
    double loss_sum, loss_weight; // since the last report
    double
        first_loss; // of the run's first step; 0: not known (a state of an older run)
    int64_t high;   // steps in a row whose loss is far above the first (train/guard.h)
    bool finished;
} cla_progress;

/* Reads the progress out of an open state. Each number has its range.
 * Errors: CLA_E_INPUT (path, key, value and range), CLA_E_NOMEM. */
cla_status cla_checkpoint_progress(const cla_st_file *file, const char *path,
                                   cla_progress *progress);

/* Writes path. optim may be NULL (weights only).
 * Errors: CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_checkpoint_save(const char *path, const cla_params *params,
                               const cla_optim *optim, const cla_progress *progress);

/* The parameters of an open state, whose bits may be others. Nothing is changed unless
 * everything fits. Errors: as cla_checkpoint_load. */
cla_status cla_checkpoint_take(const cla_st_file *file, const char *path,
                               cla_params *params);

/* Reads path into parameters, moments and progress (the last two may be NULL). Nothing
 * is
 * changed unless everything fits.
 * Errors: CLA_E_INPUT (damage; a missing tensor, a wrong shape, an unknown one: named;
 * a number of the progress that no run can have), CLA_E_NUMERIC (numbers that are not
 * finite), CLA_E_IO. */
cla_status cla_checkpoint_load(const char *path, cla_params *params, cla_optim *optim,
                               cla_progress *progress);
