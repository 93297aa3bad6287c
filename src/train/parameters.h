/* parameters.h - what a set of parameters is made of. */
#pragma once

#include "clattn/parameters.h"
#include "nn/param.h"
#include "ops/optimiser.h"

struct cla_parameters {
    cla_runtime *rt;
    cla_params params;
    cla_tensor *values, *gradients; // the blocks, flat
    cla_memory memory[CLA_OPTIMISER_MOMENTS];
    cla_tensor *moment[CLA_OPTIMISER_MOMENTS];
    const cla_optimiser *kind; // of the last step
    int64_t step;              // steps of this kind
    bool built;
    cla_tensor *unused; // home of all parameters after the build
};

/* Fails with CLA_E_USAGE unless the set is built. */
cla_status cla_parameters_need_built(const cla_parameters *set);
