/* optim.h - optimisers over a whole block of parameters, and their learning rates. */
#pragma once

#include "base/config.h"
#include "nn/param.h"
#include "ops/clip.h"
#include "ops/optimiser.h"

enum { OPTIM_MOMENTS = CLA_OPTIMISER_MOMENTS + 1, OPTIM_NAME = 32 };

typedef struct cla_optim {
    const cla_optimiser *kind;
    cla_optimiser_rates rates;
    int schedule; // 0 constant, 1 noam, 2 cosine
    int dim, warmup;
    double last;       // cosine: the rate of the last step, as a share of lr
    int anneal, steps; // the rate falls over the last `anneal` of `steps` steps
    double levels;     // rate of the weights of levels, as a multiple of the others'
    double clip;
    cla_memory clipping;  // factor and norm of the last update
    cla_clipping clipped; // the same, on the host
    cla_late *late;       // their copy
    int64_t clipped_step;
    double ema; // decay of a running mean of the parameters; 0: no mean
    cla_params *params;
    cla_memory moment[OPTIM_MOMENTS]; // blocks like that of the parameters
    cla_tensor *values, *gradients, *flat_moment[OPTIM_MOMENTS];
} cla_optim;

/* Returns the named optimiser with a constant learning rate and default settings. */
cla_optim cla_optim_usual(const char *name, double lr);

/* Reads "optimiser", "lr" and the other optimiser settings. Errors: CLA_E_INPUT. */
cla_status cla_optim_configure(cla_optim *optim, cla_config *settings);

/* Returns the learning rate of an update; the first is 1. It is lr (constant) or (noam)
 *   lr dim^-1/2 min(step^-1/2, step warmup^-3/2);
 * or (cosine) lr step / warmup, and after the warm-up, of the rest of the steps a part
 * u of which is done,
 *   lr (last + (1 - last) (1 + cos(pi u)) / 2);
 * over the last updates, if anneal is not 0,
 * times (steps + 1 - step) / (anneal + 1).
 * Source: Vaswani et al. 2017, section 5.3; Loshchilov and Hutter 2017, SGDR. */
double cla_optim_rate(const cla_optim *optim, int64_t step);

/* Makes the moments, filled with zeros. Errors: CLA_E_INPUT (a rate for the weights of
 * levels, of which the model has none), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_optim_init(cla_optim *optim, cla_params *params);
void cla_optim_fini(cla_optim *optim);

/* Writes the name of moment i: "rmsprop.square" and so on, then "ema.mean" if the mean
 * is kept. Returns false past the last. */
bool cla_optim_moment_name(const cla_optim *optim, int i, char name[OPTIM_NAME]);

/* Queues an update of the parameters from the gradients, which are clipped to a global
 * norm if clip is set. step counts from 1. Does not wait for the device.
 * Errors: CLA_E_NUMERIC (as cla_optim_settle), CLA_E_DEVICE. */
cla_status cla_optim_step(cla_optim *optim, int64_t step);

/* Waits for the norm of the last update's gradient, if it was clipped.
 * Errors: CLA_E_NUMERIC with its step (it is not finite; nor are the parameters),
 * CLA_E_DEVICE. */
cla_status cla_optim_settle(cla_optim *optim);

/* Exchanges the parameters and their running mean, before and after an evaluation. Does
 * nothing when there is no mean, or none yet (step 0). Errors: CLA_E_DEVICE. */
cla_status cla_optim_swap(cla_optim *optim, int64_t step);
