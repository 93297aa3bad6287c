/* arithmetic.h - operators to build losses from, beside cla_add and cla_multiply of
 * ops.h: differences, multiples, sigmoids, sums, means, squared errors (tier 2).
 *
 * A sum or a mean is over all elements and gives one number, [1], from which
 * cla_tape_seed can begin. It has the same bits every time. */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Difference of two tensors of one shape: y = a - b. Errors: CLA_E_SHAPE, CLA_E_NOMEM,
 * CLA_E_DEVICE. */
CLA_API cla_status cla_sub(cla_tape *tape, cla_tensor **y, cla_tensor *a,
                           cla_tensor *b);

/* A tensor times a number: y = factor x. cla_scale of optim.h changes x in place and
 * has no gradient.
 *
 * y       out  as x
 * x       in   f32, any shape
 * factor  in   any number
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_scale_by(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                float factor);

/* Logistic sigmoid: y = 1 / (1 + exp(-x)).
 *
 * y  out  as x
 * x  in   f32, any shape
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_sigmoid(cla_tape *tape, cla_tensor **y, cla_tensor *x);

/* Sum of all elements.
 *
 * y  out  [1] f32; 0 of an empty tensor
 * x  in   f32, any shape
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_sum(cla_tape *tape, cla_tensor **y, cla_tensor *x);

/* Mean of all elements.
 *
 * y  out  [1] f32; 0 of an empty tensor
 * x  in   f32, any shape
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_mean(cla_tape *tape, cla_tensor **y, cla_tensor *x);

/* Mean squared error: loss = 1/n sum_i (a[i] - b[i])^2 over all n elements.
 *
 * loss  out  [1] f32; 0 of empty tensors
 * a, b  in   f32 of one shape; both may want gradients
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_mse(cla_tape *tape, cla_tensor **loss, cla_tensor *a,
                           cla_tensor *b);

#ifdef __cplusplus
}
#endif
