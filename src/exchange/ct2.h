/* ct2.h - reads and writes model.bin of CTranslate2: named variables and aliases.
 *
 * Binary version 6, TransformerSpec revision 7, as the converters of release 4.8 write
 * it. Little-endian:
 *
 *   u32 6, name "TransformerSpec", u32 7,
 *   u32 variables: name, u8 rank, u32 sizes [rank], u8 type, u32 bytes, numbers
 *   u32 aliases: name, name of the variable
 *
 * Variables and aliases are sorted by name. A name is its u16 length, its bytes and a
 * NUL, which the length includes. */
#pragma once

#include "base/safetensors.h"
#include "base/text.h"

typedef enum ct2_type {
    CT2_F32 = 0,
    CT2_I8 = 1,
    CT2_I16 = 2,
    CT2_I32 = 3,
    CT2_F16 = 4,
    CT2_BF16 = 5,
} ct2_type;

/* A variable or an alias of one. Names and tensors belong to the caller. */
typedef struct ct2_entry {
    const char *name;
    const cla_st_tensor *tensor; // NULL: a scalar or an alias
    int type, bytes;             // of a scalar
    unsigned char value[4];
    const char *alias; // name of its variable; NULL: no alias
} ct2_entry;

typedef struct ct2_file {
    ct2_entry *entries;
    size_t count, cap;
} ct2_file;

/* Add an entry: a tensor, an integer or float32 scalar, an alias of the variable `of`.
 * Errors: CLA_E_NOMEM. */
cla_status cla_ct2_add_tensor(ct2_file *file, const cla_st_tensor *tensor);
cla_status cla_ct2_add_whole(ct2_file *file, const char *name, int type, int value);
cla_status cla_ct2_add_real(ct2_file *file, const char *name, float value);
cla_status cla_ct2_add_alias(ct2_file *file, const char *name, const char *of);
void cla_ct2_free(ct2_file *file);

/* Sorts the entries and appends the file to out. Equal tensors are stored once. Errors:
 * CLA_E_INPUT (a tensor of 4 GiB), CLA_E_NOMEM. */
cla_status cla_ct2_format(ct2_file *file, cla_text *out);

/* ---- reading ----------------------------------------------------------------- */

typedef struct ct2_variable {
    const char *name; // inside the file's bytes, as data
    int type, rank;   // ct2_type; rank 0: a scalar
    int64_t shape[4], size;
    const char *data;
    bool used; // cla_ct2_floats or cla_ct2_scalar read it
} ct2_variable;

typedef struct ct2_read {
    const char *path; // for messages
    char *bytes;
    ct2_variable *variables; // by name; an alias has the data of its variable
    size_t count, cap;
} ct2_read;

/* Reads a file of binary version 6, with the spec TransformerSpec of revision 5 to 7.
 * Takes bytes [size], which cla_ct2_close frees; call it in any case. path must live as
 * long as r. Errors: CLA_E_INPUT (no such file; another version or spec; sizes that do
 * not fit; a name twice; an alias of nothing), CLA_E_NOMEM. */
cla_status cla_ct2_open(ct2_read *r, const char *path, char *bytes, size_t size);
void cla_ct2_close(ct2_read *r);

/* Returns the variable or alias of this name, or NULL. */
ct2_variable *cla_ct2_find(const ct2_read *r, const char *name);

/* Reads a scalar; leaves *value as it is when there is none. Returns whether there is
 * one. */
bool cla_ct2_scalar(const ct2_read *r, const char *name, double *value);

/* Converts a variable to floats in out [v->size]. Whole numbers q of 8 and 16 bits
 * stand for q / scale, with a scale for each row or for all in the variable NAME_scale.
 * Errors: CLA_E_INPUT (no such scales), CLA_E_NUMERIC (a number that is not finite). */
cla_status cla_ct2_floats(const ct2_read *r, ct2_variable *v, float *out);
