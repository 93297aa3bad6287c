/* ct2.h - model.bin of CTranslate2: named variables and aliases.
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
    CT2_F16 = 4,
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
