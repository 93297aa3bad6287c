/* safetensors.h - named tensors in one file: checkpoints and golden cases.
 *
 * Layout: u64 little-endian header size, JSON header, raw data. */
#pragma once

#include <jansson.h>

#include "base/base.h"

typedef enum cla_st_dtype {
    CLA_ST_F32,
    CLA_ST_I32,
    CLA_ST_F16,
    CLA_ST_I8,
    CLA_ST_BF16, // the upper halves of 32-bit floats
    CLA_ST_DTYPES
} cla_st_dtype;

/* A type's name in files and the bytes of an element, indexed by cla_st_dtype. */
typedef struct cla_st_width {
    const char *name;
    int64_t bytes;
} cla_st_width;
extern const cla_st_width cla_st_dtypes[CLA_ST_DTYPES];

typedef struct cla_st_tensor {
    const char *name;
    cla_st_dtype dtype;
    int rank;
    int64_t shape[8];
    int64_t size;     // elements
    const void *data; // inside the file's bytes
} cla_st_tensor;

typedef struct cla_st_file {
    char *bytes; // the whole file
    json_t *header;
    json_t *metadata; // borrowed from header; NULL when there is none
    cla_st_tensor *tensors;
    size_t count;
    float *unpacked; // floats made by cla_st_unpack (base/quantise.h)
    bool sealed;     // the file has a hash of its bytes, which matches
    bool finite;     // all tensors are 32-bit, without infinity and NaN; false: unknown
} cla_st_file;

/* Reads a file and checks header size, the hash where there is one, JSON, types, shapes
 * against byte ranges, gaps and overlaps of tensors, and the end of the file.
 * Errors: CLA_E_INPUT (naming path, tensor and numbers), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_st_open(cla_st_file *file, const char *path);
void cla_st_close(cla_st_file *file);
/* Gives the memory of a tensor's numbers back to the system where that pays. They are
 * undefined from then on; those of the other tensors stay. */
void cla_st_release(const cla_st_tensor *tensor);
const cla_st_tensor *cla_st_find(const cla_st_file *file, const char *name);
/* Converts a tensor of floats of 32 or 16 bits or 8-bit integers to floats, without
 * scales, in out [t->size]. */
void cla_st_floats(const cla_st_tensor *t, float *out);
/* Returns whether every number of a tensor is finite. */
bool cla_st_finite(const cla_st_tensor *t);
const char *cla_st_meta(const cla_st_file *file, const char *key); // NULL when absent

/* Writes tensors whole or not at all, with a hash of all bytes in the metadata
 * (base/seal.h). A tensor needs name, dtype, rank, shape and data; metadata may be
 * NULL.
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_st_save(const char *path, const cla_st_tensor *tensors, size_t count,
                       json_t *metadata);
