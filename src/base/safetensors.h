/* safetensors.h - tensors with names in one file: golden cases and checkpoints.
 *
 * Layout: u64 little-endian header size, JSON header, raw data. */
#pragma once

#include <jansson.h>

#include "base/base.h"

typedef enum cla_st_dtype {
    CLA_ST_F32,
    CLA_ST_I32,
    CLA_ST_F16,
    CLA_ST_I8
} cla_st_dtype;

/* Name in the file and bytes of an element, by cla_st_dtype. */
typedef struct cla_st_width {
    const char *name;
    int64_t bytes;
} cla_st_width;
extern const cla_st_width cla_st_dtypes[];

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
    float *unpacked; // numbers that were made of shorter ones (base/quantise.h)
    bool sealed;     // it has a hash of its bytes, which was compared
    bool finite;     // all tensors are of 32 bits, and none of their numbers is special
} cla_st_file;

/* Reads and checks everything: header size, the hash where there is one, JSON, types,
 * shapes against byte ranges, overlaps, end of file.
 * Errors: CLA_E_INPUT (naming path, tensor and numbers), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_st_open(cla_st_file *file, const char *path);
void cla_st_close(cla_st_file *file);
const cla_st_tensor *cla_st_find(const cla_st_file *file, const char *name);
/* The numbers of a tensor of floats, halves or 8 bits, without scales. */
void cla_st_floats(const cla_st_tensor *t, float *out);
/* Whether every number of a tensor is finite. */
bool cla_st_finite(const cla_st_tensor *t);
const char *cla_st_meta(const cla_st_file *file, const char *key); // NULL when absent

/* Writes tensors (name, dtype, shape, data filled in) whole or not at all, with a hash
 * of all bytes in the metadata (base/seal.h).
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_st_save(const char *path, const cla_st_tensor *tensors, size_t count,
                       json_t *metadata);
