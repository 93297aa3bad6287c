/* npy.h - parses an array in NumPy's file format (NPY 1 to 3) without copying it. */
#pragma once

#include "base/base.h"

typedef enum cla_npy_type { CLA_NPY_F32, CLA_NPY_F16, CLA_NPY_BYTES } cla_npy_type;

typedef struct cla_npy {
    cla_npy_type type;
    int rank;
    int64_t shape[4];
    int64_t size;     // elements
    const char *data; // inside the parsed bytes, at any alignment
} cla_npy;

/* Parses a little-endian array in row-major order. path and name are for messages.
 * Errors: CLA_E_INPUT (not an array, another type or order, a shape that does not match
 * the number of bytes). */
cla_status cla_npy_parse(cla_npy *array, const char *path, const char *name,
                         const char *bytes, size_t size);
