/* linear.h - the way back through a bias and an activation. */
#pragma once

#include "clattn/ops.h"
#include "tensor/tensor.h"

/* *g = dy act'(h), which is dy itself where there is no activation; the gradient of b
 * (NULL: no bias) grows by its column sums.
 *
 * h, dy  [N,C], h the activation's result
 * b      [C]
 *
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_linear_tail(cla_tape *tape, cla_tensor *b, const cla_tensor *h,
                           const cla_tensor *dy, cla_activation activation,
                           cla_memory *g);
