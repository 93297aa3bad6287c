/* rows.h - slices of rows and their concatenation, for models that loop over steps
 * (tier 2). cla_embedding gathers rows by number. */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows below each other: y = (x[0]; x[1]; ...).
 *
 * y  out  [N,D] f32, N the sum of all N_i
 * x  in   [n] tensors [N_i,D] f32, n of 1 or more; not needed after the call
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (n below 1), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_stack(cla_tape *tape, cla_tensor **y, cla_tensor *const *x,
                             int64_t n);

/* Rows first .. first+count-1 of a matrix: a copy.
 *
 * y  out  [count,D] f32
 * x  in   [N,D] f32
 *
 * Errors: CLA_E_SHAPE (rows beyond those of x), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_slice(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                             int64_t first, int64_t count);

#ifdef __cplusplus
}
#endif
