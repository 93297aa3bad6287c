/* export_weights.h - converts the tensors of a checkpoint to another number type. */
#pragma once

#include "nn/param.h"
#include "train/weights.h"

/* The tensors to write, widest number type first, so that each is aligned. */
typedef struct export_tensors {
    cla_st_tensor *list;
    size_t count;
    int64_t numbers; // parameter values
    void **made;     // values and names that do not belong to the file
    size_t made_count;
} export_tensors;

/* Collects the parameters of an open checkpoint, without optimiser moments. float16
 * converts all of them. int8 converts the matrices to which params assigns a use and
 * makes the others float32; it changes nothing in a checkpoint that already has int8
 * tensors.
 * Errors: CLA_E_INPUT (damaged scales; a value that float16 cannot hold), CLA_E_NOMEM.
 */
cla_status cla_export_tensors_of(export_tensors *out, cla_st_file *file,
                                 const char *path, const cla_params *params,
                                 cla_weights weights);
void cla_export_tensors_free(export_tensors *out);
