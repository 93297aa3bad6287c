/* linear.h - the backward pass of a bias and an activation. */
#pragma once

#include "clattn/ops.h"
#include "tensor/tensor.h"

/* Computes *g = dy act'(h), which is dy itself without an activation, and adds its
 * column sums to the gradient of b (NULL: no bias).
 *
 * h, dy  [N,C], h is the activation's result
 * b      [C]
 *
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_linear_tail(cla_tape *tape, cla_tensor *b, const cla_tensor *h,
                           const cla_tensor *dy, cla_activation activation,
                           cla_memory *g);
