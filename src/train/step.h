/* step.h - one step of training: a batch's gradient over all processes, applied. */
#pragma once

#include "train/optim.h"
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

typedef struct cla_stepper {
    cla_task *task;
    cla_parallel parallel;
    cla_optim optim;
    int batch;      // examples of a step, over all processes
    int accumulate; // parts that a process computes its share in
    cla_tape *tape;
    cla_tensor *share; // [1] what the loss of a part counts
    float *host;       // gradients on their way to other processes
} cla_stepper;

/* Reads "batch" (unless the kind makes its own batches), "accumulate" and the
 * optimiser's keys. Errors: CLA_E_INPUT. */
cla_status cla_stepper_configure(cla_stepper *stepper, const cla_task_kind *kind,
                                 cla_config *settings);
/* The task must be open. fini takes what was never made, too. */
cla_status cla_stepper_init(cla_stepper *stepper, cla_task *task,
                            const cla_parallel *parallel);
void cla_stepper_fini(cla_stepper *stepper);

typedef struct cla_step_result {
    double loss;    // mean over the targets of the batch
    double targets; // of the batch
    bool stop;      // in: this process is asked to stop; out: one of them is
    bool shared;    // out: all processes have the same loss, gradient and status
} cla_step_result;

/* One update, the step'th (from 0), from n examples of the training data.
 *
 * Errors: CLA_E_NUMERIC (the loss or the gradient is not finite; nothing was updated),
 * CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_stepper_step(cla_stepper *stepper, const int64_t *examples, int64_t n,
                            int64_t step, cla_step_result *result);

/* Puts the examples of an epoch in their order, which depends on seed and epoch.
 * Errors: CLA_E_NOMEM. */
cla_status cla_stepper_order(const cla_stepper *stepper, int64_t *order, int64_t epoch);

/* How many of them, from next on, are the next batch. */
int64_t cla_stepper_take(const cla_stepper *stepper, int64_t next);

/* XXH64 of all weights. */
cla_status cla_stepper_hash(cla_stepper *stepper, uint64_t *hash);
