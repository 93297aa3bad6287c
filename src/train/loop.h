/* loop.h - the training loop: epochs, steps, evaluation, early stopping, checkpoints,
 * resuming. */
#pragma once

#include "train/step.h"

typedef struct cla_train_options {
    const char *out; // run folder
    bool resume;
    bool quiet;   // only warnings on stderr
    bool profile; // profile the steps; the first counts only if it is the only one
    cla_parallel parallel;
    volatile const int *signal; // set by a handler: finish the step, save, return
} cla_train_options;

typedef struct cla_train_result {
    bool interrupted; // by the signal; the run can be resumed
    bool shared;      // the failure is common to all processes of the run
    int64_t step, best_step;
    int64_t taken; // steps of this process; step and best_step are those of the run
    double best;
    double words_per_second;
    int64_t profiled;  // steps
    double profiled_s; // their time
} cla_train_result;

/* Trains the system that the settings describe, in the folder options->out; checks and
 * completes the settings.
 * Errors: CLA_E_INPUT (settings, data, a checkpoint that does not fit), CLA_E_USAGE
 * (the folder holds a run, a resumed run has other settings, or another process writes
 * it), CLA_E_IO, CLA_E_NUMERIC (the loss or the parameters are not finite, or the run
 * diverges; names the last good state), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_train(cla_runtime *rt, cla_config *settings,
                     const cla_train_options *options, cla_train_result *result);
