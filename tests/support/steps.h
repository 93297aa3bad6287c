/* steps.h - steps of an optimiser on the device against its oracle's. */
#pragma once

#include "support/support.h"

enum { STEPS_MOMENTS = 2 };

/* Parameters, moments and the gradient, in this order. */
typedef struct steps_case {
    const char *name;
    int moments;
    cla_status (*device)(cla_runtime *rt, cla_tensor *const *t, int step);
    void (*oracle)(double *const *x, int n, int step);
    double bar; // of parameters and moments, absolute
} steps_case;

/* Five steps of blocks of many sizes, in both schedules. A parameter without gradient,
 * as most of an embedding's are, must not move at all. */
void check_steps(const steps_case *c);
