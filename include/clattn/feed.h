/* feed.h - further operators of Transformers: GELU and SiLU, root mean square norms,
 * rotary positions, an output layer that shares its weights with the embeddings, a
 * residual sum with dropout (tier 2). */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Linear layer by a transposed matrix: y = x w^T + b. An output layer with tied weights
 * takes the table of embeddings as w.
 *
 * y  out  [N,out] f32
 * x  in   [N,in] f32
 * w  in   [out,in] f32
 * b  in   [out] f32, may be NULL
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Press and Wolf 2017. */
CLA_API cla_status cla_tied_linear(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                   cla_tensor *w, cla_tensor *b);

/* Gaussian error linear unit: y = x P(Z <= x) = x (1 + erf(x / sqrt(2))) / 2.
 *
 * y  out  [N,D] f32
 * x  in   [N,D] f32
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Hendrycks and Gimpel 2016. */
CLA_API cla_status cla_gelu(cla_tape *tape, cla_tensor **y, cla_tensor *x);

/* Approximate Gaussian error linear unit:
 *
 *   y = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
 *
 * y  out  [N,D] f32
 * x  in   [N,D] f32
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Hendrycks and Gimpel 2016, section 2. */
CLA_API cla_status cla_gelu_tanh(cla_tape *tape, cla_tensor **y, cla_tensor *x);

/* Sigmoid linear unit, also called swish: y = x / (1 + exp(-x)).
 *
 * y  out  [N,D] f32
 * x  in   [N,D] f32
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Hendrycks and Gimpel 2016; Ramachandran et al. 2017. */
CLA_API cla_status cla_silu(cla_tape *tape, cla_tensor **y, cla_tensor *x);

/* Root mean square normalisation: y = x / sqrt(mean(x^2) + eps) gamma, the mean over
 * each row.
 *
 * y      out  [N,D] f32
 * x      in   [N,D] f32
 * gamma  in   [D] f32
 * eps    in   0 or more
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Zhang and Sennrich 2019. */
CLA_API cla_status cla_rms_norm(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                cla_tensor *gamma, float eps);

/* Rotary positions: pairs of a head's numbers are turned by an angle that grows with
 * the token's position p = positions[n], so that scores q k depend on distances:
 *
 *   y[n,h,k]   = x[n,h,k] cos[p,k] - x[n,h,k+r] sin[p,k],   k < r
 *   y[n,h,k+r] = x[n,h,k+r] cos[p,k] + x[n,h,k] sin[p,k]
 *
 * The other numbers of a head, from 2r on, and the heads from `turned` on stay.
 *
 * y          out  [N,H,d] f32
 * x          in   [N,H,d] f32
 * table      in   [P,2r] f32: r cosines, then r sines of each position; 2r is at most
 *                 d; has no gradient
 * positions  in   [N] i32; a token whose position is not in 0 .. P-1 is not turned
 * turned     in   0 .. H heads
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Su et al. 2021; halves as in Touvron et al. 2023 (LLaMA, of transformers). */
CLA_API cla_status cla_rotary(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                              const cla_tensor *table, const cla_tensor *positions,
                              int turned);

/* Sum and dropout in one pass: y = a + dropout(x); with whole, y = dropout(a + x).
 *
 * y      out  as x
 * a, x   in   f32, of one shape; draws are those of cla_dropout
 * p      in   0 <= p < 1; with 0 it is cla_add
 * whole  in   whether the sum is dropped, and not x alone
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Srivastava et al. 2014; Vaswani et al. 2017, section 5.4. */
CLA_API cla_status cla_dropout_add(cla_tape *tape, cla_tensor **y, cla_tensor *a,
                                   cla_tensor *x, float p, bool whole);

#ifdef __cplusplus
}
#endif
