/* optimiser.h - the table of optimisers: configs, checkpoints, verify, bench and tests
 * read it. */
#pragma once

#include "clattn/optim.h"
#include "tensor/signature.h"

enum { CLA_OPTIMISER_MOMENTS = 2, CLA_OPTIMISER_DECAYS = 2 };

typedef struct cla_optimiser_rates {
    double lr, epsilon;
    double decay[CLA_OPTIMISER_DECAYS]; // of running means
} cla_optimiser_rates;

typedef struct cla_optimiser {
    cla_signature signature; // name; parameters, moments, gradient
    const char
        *moment[CLA_OPTIMISER_MOMENTS];      // in checkpoints; NULL where there is none
    const char *decay[CLA_OPTIMISER_DECAYS]; // in configs; NULL where there is none
    cla_optimiser_rates usual;
    double flops; // of a parameter
} cla_optimiser;

/* The first is the default of configs; NULL past the last. */
const cla_optimiser *cla_optimiser_at(int i);
/* NULL when no optimiser has this name. */
const cla_optimiser *cla_optimiser_named(const char *name);
int cla_optimiser_moments(const cla_optimiser *o);

/* A step over a whole block of parameters, in one launch.
 *
 * p       in, out  parameters, f32 of any shape
 * moment  in, out  cla_optimiser_moments running means as large as p; 0 at first
 * g       in       gradient, as large as p
 * step    in       1 for the first
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (step below 1), CLA_E_DEVICE. */
cla_status cla_optimiser_step(cla_runtime *rt, const cla_optimiser *o, cla_tensor *p,
                              cla_tensor *const *moment, const cla_tensor *g,
                              int64_t step, const cla_optimiser_rates *rates);
