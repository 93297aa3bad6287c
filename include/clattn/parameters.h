/* parameters.h - the parameters of a network of your own: named, drawn, trained, saved.
 *
 *   cla_parameters_new(&set, rt);
 *   cla_parameters_add(set, &table, "table", 2, shape, CLA_INITIAL_NORMAL, 0.1);
 *   cla_parameters_linear(set, &w, &b, 64, 3, "output");
 *   cla_parameters_build(set, 42);            // now table, w and b are there
 *   ... forward, cla_tape_seed, cla_tape_backward ...
 *   cla_parameters_step(set, &adam, 1, NULL); // and again from the forward pass
 *                             // or another optimiser: cla_parameters_update
 *   cla_parameters_save(set, "network.safetensors");
 *
 * docs/tutorial-c.md makes a whole network. It is part of the library clattn-models.
 * Thread-safety: as the runtime. */
#pragma once

#include "clattn/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cla_parameters cla_parameters;

/* First values. fan_out is the last size of the shape and fan_in the product of the
 * others (of a vector, both are its length). */
typedef enum cla_initial {
    CLA_INITIAL_ZEROS,
    CLA_INITIAL_ONES,
    CLA_INITIAL_CONSTANT, // scale
    CLA_INITIAL_UNIFORM,  // U(-scale, scale)
    CLA_INITIAL_NORMAL,   // N(0, scale^2)
    CLA_INITIAL_GLOROT    // U(-a, a), a = sqrt(6 / (fan_in + fan_out)): Glorot and
                          // Bengio 2010, equation 16
} cla_initial;

/* An empty set. The runtime must outlive it. Errors: CLA_E_NOMEM. */
CLA_API cla_status cla_parameters_new(cla_parameters **set, cla_runtime *rt);

/* Frees the parameters, too. */
CLA_API void cla_parameters_free(cla_parameters **set);

/* Adds a parameter.
 *
 * tensor  out  NULL until cla_parameters_build writes it: the address must be good
 *              until then. The set keeps and frees the tensor
 * name    in   unique in the set, at most 63 bytes
 * shape   in   [rank], rank 1 to 4, sizes from 1 on
 * scale   in   as initial says; the other kinds of first values do not read it
 *
 * Errors: CLA_E_USAGE (built already; a name that is empty, too long or taken; an
 * unknown initial), CLA_E_SHAPE (rank or a size), CLA_E_NOMEM. */
CLA_API cla_status cla_parameters_add(cla_parameters *set, cla_tensor **tensor,
                                      const char *name, int rank, const int64_t *shape,
                                      cla_initial initial, double scale);

/* Adds what cla_linear takes: w [in,out] by CLA_INITIAL_GLOROT as "name", and b [out]
 * of zeros as "name_bias". Errors: as cla_parameters_add. */
CLA_API cla_status cla_parameters_linear(cla_parameters *set, cla_tensor **w,
                                         cla_tensor **b, int64_t in, int64_t out,
                                         const char *name);

/* Makes all parameters, which want gradients, and draws their values. Each has a
 * stream of its own, so that adding one changes no other. The same seed gives the
 * same numbers on every device.
 * Errors: CLA_E_USAGE (built already, or empty), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_parameters_build(cla_parameters *set, uint32_t seed);

/* Numbers of all parameters together. */
CLA_API int64_t cla_parameters_size(const cla_parameters *set);

/* One step of Adam from the gradients that cla_tape_backward left, all in one launch;
 * afterwards no parameter has a gradient. Parameters that the loss does not depend on
 * count with a gradient of zero.
 *
 * limit  in   largest norm of the gradient over all parameters: a larger gradient is
 *             scaled down to it; 0: no limit
 * norm   out  the norm before scaling, 0 without a limit; may be NULL
 *
 * Errors: CLA_E_USAGE (not built; rates as in optim.h; limit below 0), CLA_E_NUMERIC (a
 * norm that is not finite: nothing was changed), CLA_E_DEVICE.
 * Source: Kingma and Ba 2015, algorithm 1; Pascanu et al. 2013, algorithm 1. */
CLA_API cla_status cla_parameters_step(cla_parameters *set,
                                       const cla_adam_options *adam, double limit,
                                       double *norm);

/* Which optimiser, with all its settings: cla_optimiser_usual fills them. Those that an
 * optimiser does not have are ignored. */
typedef struct cla_optimiser_options {
    const char *name;    // as in configs: "adamw"
    double lr, epsilon;  // learning rate; what is added to the root of a mean
    double decay[2];     // of its running means: rho, or beta1 and beta2
    double weight_decay; // parameters shrink by lr times it a step
    uint64_t reserved[4];
} cla_optimiser_options;

/* Name of optimiser i, or NULL past the last. docs/training.md has their equations. */
CLA_API const char *cla_optimiser_name(int i);

/* Fills options with an optimiser's name and its default settings.
 * Errors: CLA_E_USAGE (there is no optimiser of this name). */
CLA_API cla_status cla_optimiser_usual(cla_optimiser_options *options,
                                       const char *name);

/* As cla_parameters_step, by an optimiser of your choice. When it is another one than
 * that of the step before, its running means begin at zero. Parameters that want no
 * gradient (cla_tensor_want_grad) do not shrink.
 *
 * Errors: those of cla_parameters_step; CLA_E_USAGE (no such name), CLA_E_NOMEM. */
CLA_API cla_status cla_parameters_update(cla_parameters *set,
                                         const cla_optimiser_options *options,
                                         double limit, double *norm);

/* Drops the running means, as if no step had been made: the next one begins at zero,
 * and a file holds the values alone. Errors: CLA_E_USAGE (not built), CLA_E_DEVICE. */
CLA_API cla_status cla_parameters_forget(cla_parameters *set);

/* Writes the values as safetensors, with a hash; the file is whole or not there. After
 * a step it has the optimiser's name, its steps and its running means, too: tensors
 * such as "adam.mean/table". A set that loads it and goes on has the same bits as one
 * that never stopped; rates and other settings are the caller's to keep.
 *
 * Errors: CLA_E_USAGE (not built; a parameter that is named as a running mean),
 * CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_parameters_save(const cla_parameters *set, const char *path);

/* Reads such a file into the parameters, all or none of them, with the running means
 * that it has: a file of values alone (of a set that never stepped, or of an older
 * version) leaves none. A step of another optimiser than the file's begins at zero.
 *
 * Errors: CLA_E_USAGE (not built), CLA_E_IO, CLA_E_INPUT (no safetensors; damaged; an
 * optimiser that there is not; a tensor that is missing, left over, of another type or
 * shape, by name), CLA_E_NUMERIC (numbers that are not finite), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
CLA_API cla_status cla_parameters_load(cla_parameters *set, const char *path);

#ifdef __cplusplus
}
#endif
