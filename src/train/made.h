/* made.h - the tensors of a file of weights while they are made. */
#pragma once

#include "base/safetensors.h"

typedef struct cla_made {
    cla_st_tensor *tensors; // their names and numbers are the list's
    size_t count, cap;
    int64_t numbers; // in all tensors
} cla_made;

/* Adds a tensor of zeros [rows,columns] of float32; rows 0: a vector [columns].
 * numbers  out  its numbers, which stay the list's
 * Errors: CLA_E_NOMEM. */
cla_status cla_made_add(cla_made *made, const char *name, int64_t rows, int64_t columns,
                        float **numbers);
void cla_made_free(cla_made *made);

/* Stores a tensor of float32 as float16, in the place of its numbers; leaves other
 * tensors as they are.
 * path  in  for the message
 * Errors: CLA_E_INPUT (a number that float16 cannot hold). */
cla_status cla_made_halve(cla_st_tensor *tensor, const char *path);
