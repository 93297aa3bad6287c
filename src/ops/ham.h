/* ham.h - check and gradient of the level weights, for several operators. */
#pragma once

#include "cl/ham_args.h"
#include "clattn/ham.h"
#include "tensor/tensor.h"

/* Computes the gradient of c, with w = softmax(c):
 *   dc_l (+)= w_l (dw_l - sum_k w_k dw_k)
 * dw_l is the sum of the runs' partial sums in grads, in the layout of args. Does
 * nothing if c wants no gradient. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_ham_weights(cla_tape *tape, cla_tensor *c, const cla_memory *grads,
                           ham_args args);

/* Checks that c is f32 [depth], depth from 1 to CLA_HAM_DEPTH. Errors: CLA_E_SHAPE. */
cla_status cla_ham_check_weights(const char *who, const cla_tensor *c);
