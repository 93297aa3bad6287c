/* activation.h - the table of activations. */
#pragma once

#include "clattn/ops.h"

/* Names in the order of cla_activation, NULL at the end. */
extern const char *const cla_activation_names[];

/* Whether the slope follows from the result, as cl/activation.clh has it. Kernels apply
 * these as they store; the others are an operator of their own, whose backward pass
 * reads its input. */
bool cla_activation_fuses(cla_activation activation);

/* Fails with CLA_E_USAGE for a number that is not in the table, and with fused for an
 * activation that does not fuse. who: as cla_known. */
cla_status cla_activation_check(const char *who, cla_activation activation, bool fused);

/* Returns act(x), on the host: the definition. */
double cla_activation_of(cla_activation activation, double x);

/* Queues y = act(x) for an activation that does not fuse. Errors: as cla_gelu. */
cla_status cla_activate(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                        cla_activation activation);
