/* export_weights.h - the tensors of a state in more or fewer bits. */
#pragma once

#include "nn/param.h"
#include "train/weights.h"

/* Tensors that are to be written, longest numbers first, so that each is aligned. */
typedef struct export_tensors {
    cla_st_tensor *list;
    size_t count;
    int64_t numbers; // of the parameters
    void **made;     // numbers and names that are not the file's
    size_t made_count;
} export_tensors;

/* The parameters of an open state, without moments. float16 is for all of them, int8
 * for the matrices that params says have a use; others of these become floats.
 * Errors: CLA_E_INPUT (damaged scales; beyond what halves hold), CLA_E_NOMEM. */
cla_status export_tensors_of(export_tensors *out, cla_st_file *file, const char *path,
                             const cla_params *params, cla_weights weights);
void export_tensors_free(export_tensors *out);
