/* ham.h - what operators on levels share: the gradient of their weights. */
#pragma once

#include "cl/ham_args.h"
#include "clattn/ham.h"
#include "tensor/tensor.h"

/* dc_l (+)= w_l (dw_l - sum_k w_k dw_k), dw the sums over runs that lie in grads as
 * args say; nothing where c wants no gradient. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_ham_weights(cla_tape *tape, cla_tensor *c, const cla_memory *grads,
                           ham_args args);

/* Refuses c unless it is [depth] of 1 to CLA_HAM_DEPTH. Errors: CLA_E_SHAPE. */
cla_status cla_ham_check_weights(const char *who, const cla_tensor *c);
