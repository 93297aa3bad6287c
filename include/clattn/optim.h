/* optim.h - steps of an optimiser: parameters changed in place, in one launch.
 *
 * They are not recorded on a tape. To step in one launch, keep all parameters in one
 * tensor, their gradients in another, and each moment in a third.
 *
 * Rates that would make parameters NaN are refused with CLA_E_USAGE: an eps that is not
 * above 0, a decay (rho, beta) outside [0,1), an lr that is not finite. */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RMSprop.
 *
 *   a <- rho a + (1 - rho) g^2,  p <- p - lr g / (sqrt(a) + eps)
 *
 * p  in, out  parameters, f32 of any shape
 * a  in, out  running mean of g^2, as large as p; 0 before the first step
 * g  in       gradient, as large as p
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (rates, above), CLA_E_DEVICE.
 * Source: Hinton, Srivastava and Swersky 2012, lecture 6e. */
CLA_API cla_status cla_rmsprop(cla_runtime *rt, cla_tensor *p, cla_tensor *a,
                               const cla_tensor *g, float lr, float rho, float eps);

/* AdaDelta.
 *
 *   a <- rho a + (1 - rho) g^2,  u = g sqrt(d + eps) / sqrt(a + eps),
 *   d <- rho d + (1 - rho) u^2,  p <- p - lr u
 *
 * p     in, out  parameters, f32 of any shape
 * a, d  in, out  running means of g^2 and of u^2, as large as p; 0 at first
 * g     in       gradient, as large as p
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (rates, above), CLA_E_DEVICE.
 * Source: Zeiler 2012, algorithm 1, where lr is 1. */
CLA_API cla_status cla_adadelta(cla_runtime *rt, cla_tensor *p, cla_tensor *a,
                                cla_tensor *d, const cla_tensor *g, float lr, float rho,
                                float eps);

/* All four must be set; there are no defaults. {0} is refused, since eps is 0. */
typedef struct cla_adam_options {
    float lr, beta1, beta2, eps;
    uint64_t reserved[4]; // 0: room for later versions
} cla_adam_options;

/* Adam with bias correction.
 *
 *   m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,
 *   p <- p - lr (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps)
 *
 * p     in, out  parameters, f32 of any shape
 * m, v  in, out  running means of g and g^2, as large as p; 0 before the first step
 * g     in       gradient, as large as p
 * step  in       1 for the first step, 2 for the second ...
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (rates; step below 1), CLA_E_DEVICE.
 * Source: Kingma and Ba 2015, algorithm 1. */
CLA_API cla_status cla_adam(cla_runtime *rt, cla_tensor *p, cla_tensor *m,
                            cla_tensor *v, const cla_tensor *g, int64_t step,
                            const cla_adam_options *options);

/* Exponential moving average of parameters.
 *
 *   e <- decay e + (1 - decay) p;  with a decay of 0: e <- p
 *
 * e  in, out  the mean, f32 of any shape
 * p  in       parameters, as large as e
 *
 * Errors: CLA_E_SHAPE, CLA_E_DEVICE.
 * Source: Polyak and Juditsky 1992; the exponential form as in Seo et al. 2017. */
CLA_API cla_status cla_ema(cla_runtime *rt, cla_tensor *e, const cla_tensor *p,
                           float decay);

/* Exchanges the values of e and p, which have the same size.
 * Errors: CLA_E_SHAPE, CLA_E_DEVICE. */
CLA_API cla_status cla_swap(cla_runtime *rt, cla_tensor *e, cla_tensor *p);

/* Euclidean norm of all elements of x; waits for the device. The same bits every time.
 *
 * norm  out  NaN or infinity when x holds such
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_norm(cla_runtime *rt, double *norm, const cla_tensor *x);

/* Whether every element of x is finite; waits for the device.
 *
 * finite  out  false when x holds an infinity or a NaN; true for an empty x
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_finite(cla_runtime *rt, bool *finite, const cla_tensor *x);

/* x <- factor x. Errors: CLA_E_SHAPE, CLA_E_DEVICE. */
CLA_API cla_status cla_scale(cla_runtime *rt, cla_tensor *x, float factor);

/* Clips g to a norm of at most limit. Where the norm is not finite, g is not changed;
 * the caller decides what to do.
 *
 * norm   out  before the change; NULL: the host does not wait for the device
 * limit  in   above 0
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Pascanu, Mikolov and Bengio 2013, algorithm 1. */
CLA_API cla_status cla_clip(cla_runtime *rt, double *norm, cla_tensor *g, float limit);

#ifdef __cplusplus
}
#endif
