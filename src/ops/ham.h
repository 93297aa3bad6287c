/* ham.h - what operators on levels share: the gradient of their weights. */
#pragma once

#include "clattn/ham.h"
#include "tensor/tensor.h"

/* As in cl/ham.clh. */
typedef struct cla_ham_args {
    int32_t width, depth, first, last, queries, places, train, self, mode, runs;
    int32_t sequences;
    float scale;
} cla_ham_args;

/* dc_l (+)= w_l (dw_l - sum_k w_k dw_k), dw the sums over runs that lie in grads as
 * args say; nothing where c wants no gradient. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_ham_weights(cla_tape *tape, cla_tensor *c, const cla_memory *grads,
                           cla_ham_args args);

/* Refuses c unless it is [depth] of 1 to CLA_HAM_DEPTH. Errors: CLA_E_SHAPE. */
cla_status cla_ham_check_weights(const char *who, const cla_tensor *c);
