/* checkpoint.h - a run's state in one safetensors file, whole or not at all. */
#pragma once

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
    bool finished;
} cla_progress;

/* Writes path. optim may be NULL (weights only).
 * Errors: CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_checkpoint_save(const char *path, const cla_params *params,
                               const cla_optim *optim, const cla_progress *progress);

/* Reads path into parameters, moments and progress (the last two may be NULL). Nothing
 * is
 * changed unless everything fits.
 * Errors: CLA_E_INPUT (a missing tensor, a wrong shape, an unknown one: named),
 * CLA_E_IO. */
cla_status cla_checkpoint_load(const char *path, cla_params *params, cla_optim *optim,
                               cla_progress *progress);
