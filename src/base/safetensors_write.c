/* safetensors_write.c - writes named tensors into one file, whole or not at all. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "base/seal.h"
#include "base/text.h"

enum { PREFIX_BYTES = 8 };

const cla_st_width cla_st_dtypes[CLA_ST_DTYPES] = {
    { "F32", 4 }, { "I32", 4 }, { "F16", 2 }, { "I8", 1 }, { "BF16", 2 }
};

static int64_t elements(const cla_st_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        n *= t->shape[i];
    }
    return n;
}

static size_t bytes_of(const cla_st_tensor *t)
{
    return (size_t)(elements(t) * cla_st_dtypes[t->dtype].bytes);
}

/* Returns a tensor's entry in the header, or NULL when out of memory. */
static json_t *describe(const cla_st_tensor *t, int64_t begin)
{
    const json_int_t end = begin + (int64_t)bytes_of(t);
    json_t *shape = json_array();
    int failed = !shape;
    for (int i = 0; i < t->rank; i++) {
        failed |= json_array_append_new(shape, json_integer(t->shape[i]));
    }
    if (failed) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", cla_st_dtypes[t->dtype].name,
                     "shape", shape, "data_offsets", (json_int_t)begin, end);
}

/* Returns a blank seal and the caller's metadata, or NULL when out of memory. */
static json_t *seal_metadata(json_t *metadata)
{
    json_t *sealed = json_pack("{s:s}", CLA_SEAL_KEY, CLA_SEAL_BLANK);
    if (sealed && metadata && !cla_json_complete(sealed, metadata)) {
        json_decref(sealed);
        return NULL;
    }
    return sealed;
}

static json_t *make_header(const cla_st_tensor *tensors, size_t count, json_t *metadata)
{
    json_t *header = json_object();
    int failed = json_object_set_new(header, "__metadata__", seal_metadata(metadata));
    int64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        failed |=
            json_object_set_new(header, tensors[i].name, describe(&tensors[i], at));
        at += (int64_t)bytes_of(&tensors[i]);
    }
    if (failed) {
        json_decref(header);
        return NULL;
    }
    return header;
}

/* Formats the header, padded with blanks so that the data begins at a multiple of 8. */
static cla_status format_header(cla_text *text, const cla_st_tensor *tensors,
                                size_t count, json_t *metadata)
{
    json_t *header = make_header(tensors, count, metadata);
    char *json = header ? cla_json_write(header, JSON_COMPACT, CLA_JSON_EXACT) : NULL;
    json_decref(header);
    if (!json) return cla_fail(CLA_E_NOMEM, "safetensors: out of memory");

    const int size = (int)((strlen(json) + 7) / 8 * 8);
    const cla_status status = cla_text_add(text, "%-*s", size, json);
    free(json);
    return status;
}

static cla_status format_file(cla_text *out, const cla_text *header,
                              const cla_st_tensor *tensors, size_t count)
{
    char prefix[PREFIX_BYTES];
    for (int i = 0; i < PREFIX_BYTES; i++) {
        prefix[i] = (char)(header->size >> (8 * i) & 0xff);
    }
    size_t total = sizeof prefix + header->size;
    for (size_t i = 0; i < count; i++) {
        total += bytes_of(&tensors[i]);
    }
    CLA_TRY(cla_grow(&out->data, &out->cap, total + 1, 1));
    CLA_TRY(cla_text_append(out, prefix, sizeof prefix));
    CLA_TRY(cla_text_append(out, header->data, header->size));
    for (size_t i = 0; i < count; i++) {
        CLA_TRY(cla_text_append(out, tensors[i].data, bytes_of(&tensors[i])));
    }
    const bool sealed =
        cla_seal_put(out->data, out->size, sizeof prefix + header->size);
    return sealed ? CLA_OK
                  : cla_fail(CLA_E_INPUT, "safetensors: no place for the hash");
}

cla_status cla_st_save(const char *path, const cla_st_tensor *tensors, size_t count,
                       json_t *metadata)
{
    cla_text header = { 0 }, file = { 0 };
    cla_status status = format_header(&header, tensors, count, metadata);
    if (!status) status = format_file(&file, &header, tensors, count);
    if (!status) status = cla_file_write(path, file.data, file.size);
    cla_text_free(&header);
    cla_text_free(&file);
    return status;
}
