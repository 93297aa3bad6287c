/* feed.h - what translation models have beside ops.h: activations of the feed-forward
 * block, scores by a table of embeddings (tier 2). */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Linear layer whose matrix is stored as a table of its columns, such as embeddings
 * that give scores, too: y = x w' + b.
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

/* Sigmoid linear unit, also called swish: y = x / (1 + exp(-x)).
 *
 * y  out  [N,D] f32
 * x  in   [N,D] f32
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Hendrycks and Gimpel 2016; Ramachandran et al. 2017. */
CLA_API cla_status cla_silu(cla_tape *tape, cla_tensor **y, cla_tensor *x);

#ifdef __cplusplus
}
#endif
