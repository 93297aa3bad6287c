/* made.h - a list of tensors in memory, to be written as a file of weights. */
#pragma once

#include "base/safetensors.h"

typedef struct cla_made {
    cla_st_tensor *tensors; // the list owns their names and numbers
    size_t count, cap;
    int64_t numbers; // in all tensors
} cla_made;

/* Adds a tensor of zeros [rows,columns] of float32; rows 0: a vector [columns].
 * numbers  out  its numbers, which the list owns
 * Errors: CLA_E_NOMEM. */
cla_status cla_made_add(cla_made *made, const char *name, int64_t rows, int64_t columns,
                        float **numbers);
void cla_made_free(cla_made *made);

/* Converts a tensor of float32 to float16 in place; leaves other tensors unchanged.
 * path  in  for the message
 * Errors: CLA_E_INPUT (a finite number that is too large for float16). */
cla_status cla_made_halve(cla_st_tensor *tensor, const char *path);
