/* step.h - a training step: the gradient of a batch over all processes, the update. */
#pragma once

#include "train/exchange.h"
#include "train/optim.h"
#include "train/task.h"

/* The loss of a part of a batch, which arrives while the backward pass runs. */
typedef struct cla_part_loss {
    float value;
    double share; // of the batch's targets
    cla_late *late;
} cla_part_loss;

typedef struct cla_stepper {
    cla_task *task;
    cla_parallel parallel;
    cla_optim optim;
    int batch;      // examples of a step, over all processes
    int accumulate; // parts in which a process computes its share
    cla_tape *tape;
    cla_tensor *share;     // [1] weight of a part's loss
    cla_part_loss *losses; // [accumulate]
    cla_exchange exchange; // with several processes
    bool norm_failed;      // the norm of the step before, which all of them have
} cla_stepper;

/* Reads "batch" (unless the kind makes its own batches), "accumulate" and the
 * optimiser's keys. Errors: CLA_E_INPUT. */
cla_status cla_stepper_configure(cla_stepper *stepper, const cla_task_kind *kind,
                                 cla_config *settings);
/* Makes the optimiser's state and the tape for an open task. cla_stepper_fini may be
 * called in any case. */
cla_status cla_stepper_init(cla_stepper *stepper, cla_task *task,
                            const cla_parallel *parallel);
void cla_stepper_fini(cla_stepper *stepper);

typedef struct cla_step_result {
    double loss;    // mean over the targets of the batch
    double targets; // of the batch
    bool stop;      // in: this process is to stop; out: one of them is
    bool shared;    // out: all processes have the same loss, gradient and status
} cla_step_result;

/* Makes an update from n examples of the training data. step counts from 0.
 *
 * Errors: CLA_E_NUMERIC (the loss is not finite, or with several processes the
 * gradient: nothing was updated; or the gradient of the step before, see
 * cla_optim_settle), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_stepper_step(cla_stepper *stepper, const int64_t *examples, int64_t n,
                            int64_t step, cla_step_result *result);

/* Writes the examples of an epoch in their order, which depends on seed and epoch.
 * Errors: CLA_E_NOMEM. */
cla_status cla_stepper_order(const cla_stepper *stepper, int64_t *order, int64_t epoch);

/* Returns the size of the batch that starts at place next of this order. */
int64_t cla_stepper_take(const cla_stepper *stepper, int64_t next);

/* Of several processes each logs the hash of the weights, which is the same in all, and
 * how much of the gradient was complete before the last backward pass ended
 * (CLATTN_LOG=info). */
cla_status cla_stepper_log(const cla_stepper *stepper, int64_t step);
