/* optim.h - optimisers over a whole block of parameters. */
#pragma once

#include "base/config.h"
#include "nn/param.h"
#include "ops/optimiser.h"

enum { OPTIM_MOMENTS = CLA_OPTIMISER_MOMENTS + 1, OPTIM_NAME = 32 };

typedef struct cla_optim {
    const cla_optimiser *kind;
    cla_optimiser_rates rates;
    int schedule; // 0 constant, 1 noam
    int dim, warmup;
    int anneal, steps; // the rate falls over the last so many of so many steps
    double clip;
    double ema; // decay of a running mean of the parameters; 0: none is kept
    cla_params *params;
    cla_memory moment[OPTIM_MOMENTS]; // blocks beside the parameters
    cla_tensor *values, *gradients, *flat_moment[OPTIM_MOMENTS];
} cla_optim;

/* An optimiser at a constant rate, with its usual settings. */
cla_optim cla_optim_usual(const char *name, double lr);

/* Reads "optimiser", "lr" and the rest. Errors: CLA_E_INPUT. */
cla_status cla_optim_configure(cla_optim *optim, cla_config *settings);

/* The learning rate of an update, the first of which is 1: lr, or
 *   lr dim^-1/2 min(step^-1/2, step warmup^-3/2);
 * over the last updates, where anneal is not 0,
 * times (steps + 1 - step) / (anneal + 1).
 * Source: Vaswani et al. 2017, section 5.3. */
double cla_optim_rate(const cla_optim *optim, int64_t step);

/* Makes the moments, zero. */
cla_status cla_optim_init(cla_optim *optim, cla_params *params);
void cla_optim_fini(cla_optim *optim);

/* Writes "rmsprop.square" and so on; behind the optimiser's own comes "ema.mean" where
 * it is kept. False past the last. */
bool cla_optim_moment_name(const cla_optim *optim, int i, char name[OPTIM_NAME]);

/* One update from the gradients, clipped to a global norm where asked. step counts from
 * 1.
 * Errors: CLA_E_NUMERIC when the gradient is not finite (only looked at when clipping),
 * CLA_E_DEVICE. */
cla_status cla_optim_step(cla_optim *optim, int64_t step);

/* Exchanges the parameters and their running mean: before an evaluation and after it.
 * Nothing where there is no mean, or none yet (step 0). Errors: CLA_E_DEVICE. */
cla_status cla_optim_swap(cla_optim *optim, int64_t step);
