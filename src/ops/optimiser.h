/* optimiser.h - the table of optimisers, for configs, checkpoints, verify, bench and
 * tests. */
#pragma once

#include "clattn/optim.h"
#include "tensor/signature.h"

enum { CLA_OPTIMISER_MOMENTS = 2, CLA_OPTIMISER_DECAYS = 2 };

typedef struct cla_optimiser_rates {
    double lr, epsilon;
    double decay[CLA_OPTIMISER_DECAYS]; // of the running means
    double weight_decay;                // parameters shrink by lr times it a step
} cla_optimiser_rates;

typedef struct cla_optimiser {
    cla_signature signature;                   // name; parameters, moments, gradient
    const char *moment[CLA_OPTIMISER_MOMENTS]; // names in checkpoints; NULL: none
    const char *decay[CLA_OPTIMISER_DECAYS];   // names in configs; NULL: none
    cla_optimiser_rates usual;                 // epsilon, weight_decay of 0: none
    double flops;                              // for each parameter
} cla_optimiser;

/* Returns optimiser i, or NULL past the last. The first is the default of configs. */
const cla_optimiser *cla_optimiser_at(int i);
/* Returns the optimiser of this name, or NULL. */
const cla_optimiser *cla_optimiser_named(const char *name);
int cla_optimiser_moments(const cla_optimiser *o);

/* Fails with CLA_E_USAGE for rates that would make parameters NaN, such as {0}. */
cla_status cla_optimiser_check(const cla_optimiser *o, const cla_optimiser_rates *r);

cla_optimiser_rates cla_adam_rates(const cla_adam_options *options);

/* Queues a step over a whole block of parameters, in one launch.
 *
 * p       in, out  parameters, f32 of any shape
 * moment  in, out  cla_optimiser_moments running means of p's shape; zeros at first
 * g       in       gradient, of p's shape
 * step    in       number of the step, from 1
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (rates that give NaN; step below 1),
 * CLA_E_DEVICE. */
cla_status cla_optimiser_step(cla_runtime *rt, const cla_optimiser *o, cla_tensor *p,
                              cla_tensor *const *moment, const cla_tensor *g,
                              int64_t step, const cla_optimiser_rates *rates);
