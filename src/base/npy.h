/* npy.h - an array of NumPy's file format (NPY 1 to 3), as it stands in memory. */
#pragma once

#include "base/base.h"

typedef enum cla_npy_type { CLA_NPY_F32, CLA_NPY_F16, CLA_NPY_BYTES } cla_npy_type;

typedef struct cla_npy {
    cla_npy_type type;
    int rank;
    int64_t shape[4];
    int64_t size;     // elements
    const char *data; // inside of the bytes, at any alignment
} cla_npy;

/* Reads an array in row-major order, little-endian. path and name are for messages.
 * Errors: CLA_E_INPUT (no array, another type or order, a shape that does not give the
 * number of bytes). */
cla_status cla_npy_parse(cla_npy *array, const char *path, const char *name,
                         const char *bytes, size_t size);
