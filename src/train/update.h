/* update.h - a step of an optimiser over the parameters of a model. */
#pragma once

#include "nn/param.h"
#include "ops/optimiser.h"

typedef struct cla_update {
    const cla_optimiser *kind;
    const cla_params *params;
    cla_tensor *values, *gradients; // the blocks, flat
    const cla_memory *moment;       // blocks like that of the parameters
    cla_tensor *const *flat_moment; // the same, flat
    bool matrices; // weight decay acts on parameters of two or more sizes alone
    double levels; // rate of the weights of levels, as a multiple of the others'
} cla_update;

/* Queues the step, in one launch. With weight decay, parameters that want no gradient
 * are left out, and with `matrices` others do not decay; with `levels` other than 1 the
 * weights of levels have a rate of their own: there is a launch for each stretch of
 * parameters that are alike.
 * Errors: as cla_optimiser_step; CLA_E_NOMEM. */
cla_status cla_update_step(const cla_update *u, int64_t step,
                           const cla_optimiser_rates *rates);
