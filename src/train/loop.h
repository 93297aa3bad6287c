/* loop.h - training: epochs, steps, evaluation, early stop, checkpoints, resume. */
#pragma once

#include "train/step.h"

typedef struct cla_train_options {
    const char *out; // run folder
    bool resume;
    bool quiet;   // nothing on stderr but warnings
    bool profile; // steps of training; the first one only where there is no other
    cla_parallel parallel;
    volatile const int *signal; // set by a handler: finish the step, save, return
} cla_train_options;

typedef struct cla_train_result {
    bool interrupted; // by the signal; the checkpoint is written
    bool shared;      // a failure that all processes of the run have in common
    int64_t step, best_step;
    int64_t taken; // steps of this process; the others are those of the run
    double best;
    double words_per_second;
    int64_t profiled;  // steps
    double profiled_s; // their time
} cla_train_result;

/* Trains the system of the settings (completed and checked here) into options->out.
 * Errors: CLA_E_INPUT (settings, data, a checkpoint that does not fit), CLA_E_USAGE
 * (the folder holds a run, or another process writes it), CLA_E_IO, CLA_E_NUMERIC (the
 * loss or the parameters are not finite, or the run diverges; the last good state is
 * named), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_train(cla_runtime *rt, cla_config *settings,
                     const cla_train_options *options, cla_train_result *result);
