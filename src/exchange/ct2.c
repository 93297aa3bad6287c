/* ct2.c - writes model.bin of CTranslate2. */
#include "exchange/ct2.h"

#include <string.h>

enum { VERSION = 6, REVISION = 7 };

/* ---- entries ----------------------------------------------------------------- */

static cla_status add(ct2_file *file, const ct2_entry *e)
{
    CLA_TRY(
        cla_grow(&file->entries, &file->cap, file->count + 1, sizeof *file->entries));
    file->entries[file->count++] = *e;
    return CLA_OK;
}

cla_status cla_ct2_add_tensor(ct2_file *file, const cla_st_tensor *tensor)
{
    return add(file, &(ct2_entry){ .name = tensor->name, .tensor = tensor });
}

cla_status cla_ct2_add_whole(ct2_file *file, const char *name, int type, int value)
{
    ct2_entry e = { .name = name,
                    .type = type,
                    .bytes = type == CT2_I32   ? 4
                             : type == CT2_I16 ? 2
                                               : 1 };
    for (int i = 0; i < e.bytes; i++) {
        e.value[i] = (unsigned char)((unsigned)value >> (8 * i) & 0xff);
    }
    return add(file, &e);
}

cla_status cla_ct2_add_real(ct2_file *file, const char *name, float value)
{
    uint32_t bits = 0;
    ct2_entry e = { .name = name, .type = CT2_F32, .bytes = 4 };
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++) {
        e.value[i] = (unsigned char)(bits >> (8 * i) & 0xff);
    }
    return add(file, &e);
}

cla_status cla_ct2_add_alias(ct2_file *file, const char *name, const char *of)
{
    return add(file, &(ct2_entry){ .name = name, .alias = of });
}

void cla_ct2_free(ct2_file *file)
{
    free(file->entries);
    *file = (ct2_file){ 0 };
}

/* ---- the file ---------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ct2_entry *)a)->name, ((const ct2_entry *)b)->name);
}

static bool same_numbers(const cla_st_tensor *a, const cla_st_tensor *b)
{
    return a && b && a->rank == b->rank && a->shape[0] == b->shape[0] &&
           a->size == b->size &&
           memcmp(a->data, b->data,
                  (size_t)(a->size * cla_st_dtypes[a->dtype].bytes)) == 0;
}

/* Sorts entries by name. Tensors equal to an earlier one become its aliases. */
static void arrange(ct2_file *file)
{
    if (file->count) {
        qsort(file->entries, file->count, sizeof *file->entries, by_name);
    }
    for (size_t i = 0; i < file->count; i++) {
        ct2_entry *e = &file->entries[i];
        for (size_t k = 0; k < i && !e->alias; k++) {
            if (same_numbers(e->tensor, file->entries[k].tensor)) {
                e->alias = file->entries[k].name;
            }
        }
    }
}

/* Appends a number in little-endian order. */
static cla_status put(cla_text *out, uint64_t number, int bytes)
{
    char byte[8];
    for (int i = 0; i < bytes; i++) {
        byte[i] = (char)(number >> (8 * i) & 0xff);
    }
    return cla_text_append(out, byte, (size_t)bytes);
}

/* Appends the length of a name, with its terminating NUL, and the name. */
static cla_status put_name(cla_text *out, const char *name)
{
    CLA_TRY(put(out, strlen(name) + 1, 2));
    return cla_text_append(out, name, strlen(name) + 1);
}

static cla_status put_variable(cla_text *out, const ct2_entry *e)
{
    const cla_st_tensor *t = e->tensor;
    CLA_TRY(put_name(out, e->name));
    CLA_TRY(put(out, t ? (uint64_t)t->rank : 0, 1));
    if (!t) {
        CLA_TRY(put(out, (uint64_t)e->type, 1));
        CLA_TRY(put(out, (uint64_t)e->bytes, 4));
        return cla_text_append(out, (const char *)e->value, (size_t)e->bytes);
    }
    const int64_t bytes = t->size * cla_st_dtypes[t->dtype].bytes;
    if (bytes > UINT32_MAX) {
        return cla_fail(CLA_E_INPUT, "export: tensor '%s' is larger than 4 GiB",
                        e->name);
    }
    for (int i = 0; i < t->rank; i++) {
        CLA_TRY(put(out, (uint64_t)t->shape[i], 4));
    }
    CLA_TRY(put(out, t->dtype == CLA_ST_F16 ? CT2_F16 : CT2_F32, 1));
    CLA_TRY(put(out, (uint64_t)bytes, 4));
    return cla_text_append(out, t->data, (size_t)bytes);
}

static cla_status put_all(const ct2_file *file, cla_text *out)
{
    size_t aliases = 0;
    for (size_t i = 0; i < file->count; i++) {
        aliases += file->entries[i].alias != NULL;
    }
    CLA_TRY(put(out, VERSION, 4));
    CLA_TRY(put_name(out, "TransformerSpec"));
    CLA_TRY(put(out, REVISION, 4));
    CLA_TRY(put(out, file->count - aliases, 4));
    for (size_t i = 0; i < file->count; i++) {
        CLA_TRY(file->entries[i].alias ? CLA_OK : put_variable(out, &file->entries[i]));
    }
    CLA_TRY(put(out, aliases, 4));
    for (size_t i = 0; i < file->count; i++) {
        const ct2_entry *e = &file->entries[i];
        CLA_TRY(e->alias ? put_name(out, e->name) : CLA_OK);
        CLA_TRY(e->alias ? put_name(out, e->alias) : CLA_OK);
    }
    return CLA_OK;
}

cla_status cla_ct2_format(ct2_file *file, cla_text *out)
{
    arrange(file);
    return put_all(file, out);
}
