/* loop.h - training: epochs, steps, evaluation, early stop, checkpoints, resume. */
#pragma once

#include "train/task.h"

/* The processes of a data-parallel run, rank 0 leading; a run of its own has size 1.
 * The functions are called by all of them in the same order, and are NULL when size
 * is 1. */
typedef struct cla_parallel {
    int rank, size;
    int place; // among the processes on this machine
    /* Replaces n numbers by their sums over all processes: the same bits everywhere. */
    cla_status (*sum)(float *numbers, int64_t n);
    /* Replaces the bytes by those of process 0. */
    cla_status (*follow)(void *data, size_t bytes);
} cla_parallel;

typedef struct cla_train_options {
    const char *out; // run folder
    bool resume;
    bool quiet; // nothing on stderr but warnings
    cla_parallel parallel;
    volatile const int *signal; // set by a handler: finish the step, save, return
} cla_train_options;

typedef struct cla_train_result {
    bool interrupted; // by the signal; the checkpoint is written
    int64_t step, best_step;
    double best;
    double words_per_second;
} cla_train_result;

/* Trains the system of the settings (completed and checked here) into options->out.
 * Errors: CLA_E_INPUT (settings, data, a checkpoint that does not fit), CLA_E_USAGE
 * (the folder
 * holds a run, or another process writes it), CLA_E_IO, CLA_E_NUMERIC (the loss is not
 * finite;
 * the last checkpoint is named), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_train(cla_runtime *rt, cla_config *settings,
                     const cla_train_options *options, cla_train_result *result);
