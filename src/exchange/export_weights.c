/* export_weights.c - converts the tensors of a state to another precision. */
#include "exchange/export_weights.h"

#include <string.h>

#include "base/quantise.h"
#include "base/text.h"
#include "train/made.h"

/* Notes an allocation, which cla_export_tensors_free frees. */
static void keep(export_tensors *out, void *made)
{
    out->made[out->made_count++] = made;
}

static cla_status floats_of(export_tensors *out, const cla_st_tensor *t,
                            cla_st_tensor *to)
{
    float *numbers = NULL;
    CLA_TRY(cla_alloc(&numbers, (size_t)t->size + 1, sizeof *numbers));
    keep(out, numbers);
    cla_st_floats(t, numbers);
    to->dtype = CLA_ST_F32;
    to->data = numbers;
    return CLA_OK;
}

/* Adds a matrix in 8 bits, and its scales. */
static cla_status bytes_of(export_tensors *out, const cla_param *p,
                           const cla_st_tensor *t)
{
    const bool by_rows = p->use == CLA_PARAM_TABLE;
    const int64_t rows = t->shape[0], columns = t->shape[1];
    const int64_t scales = by_rows ? rows : columns;
    int8_t *q = NULL;
    float *scale = NULL;
    cla_text name = { 0 };
    CLA_TRY(cla_alloc(&q, (size_t)t->size + 1, sizeof *q));
    keep(out, q);
    CLA_TRY(cla_alloc(&scale, (size_t)scales + 1, sizeof *scale));
    keep(out, scale);
    CLA_TRY(cla_text_add(&name, "%s.scale", t->name));
    keep(out, name.data);
    cla_quantise(q, scale, t->data, rows, columns, by_rows);
    cla_st_tensor *to = &out->list[out->count];
    to[0] = *t;
    to[0].dtype = CLA_ST_I8;
    to[0].data = q;
    to[1] = (cla_st_tensor){ .name = name.data,
                             .dtype = CLA_ST_F32,
                             .rank = 2,
                             .shape = { by_rows ? rows : 1, by_rows ? 1 : columns },
                             .size = scales,
                             .data = scale };
    out->count += 2;
    return CLA_OK;
}

static cla_status add(export_tensors *out, const char *path, const cla_param *p,
                      const cla_st_tensor *t, cla_weights weights)
{
    cla_st_tensor to = *t;
    out->numbers += p ? t->size : 0;
    if (weights != CLA_WEIGHTS_STORED &&
        (t->dtype == CLA_ST_F16 || t->dtype == CLA_ST_BF16)) {
        CLA_TRY(floats_of(out, t, &to));
    }
    if (weights == CLA_WEIGHTS_INT8 && p && p->use && to.dtype == CLA_ST_F32 &&
        to.rank == 2) {
        return bytes_of(out, p, &to);
    }
    if (weights == CLA_WEIGHTS_FLOAT16) {
        CLA_TRY(cla_made_halve(&to, path));
    }
    out->list[out->count++] = to;
    return CLA_OK;
}

/* Sorts tensors by the bytes of a number, most first; keeps the order of equal ones. */
static cla_status sort(export_tensors *out)
{
    cla_st_tensor *sorted = NULL;
    size_t count = 0;
    CLA_TRY(cla_alloc(&sorted, out->count + 1, sizeof *sorted));
    for (int64_t width = 4; width; width /= 2) {
        for (size_t i = 0; i < out->count; i++) {
            if (cla_st_dtypes[out->list[i].dtype].bytes == width) {
                sorted[count++] = out->list[i];
            }
        }
    }
    free(out->list);
    out->list = sorted;
    return CLA_OK;
}

static bool has_bytes(const cla_st_file *file)
{
    bool found = false;
    for (size_t i = 0; i < file->count; i++) {
        found = found || file->tensors[i].dtype == CLA_ST_I8;
    }
    return found;
}

cla_status cla_export_tensors_of(export_tensors *out, cla_st_file *file,
                                 const char *path, const cla_params *params,
                                 cla_weights weights)
{
    enum { MADE_OF_ONE = 4 };
    *out = (export_tensors){ 0 };
    weights =
        weights == CLA_WEIGHTS_INT8 && has_bytes(file) ? CLA_WEIGHTS_STORED : weights;
    CLA_TRY(weights == CLA_WEIGHTS_STORED ? CLA_OK : cla_st_unpack(file, path));
    CLA_TRY(cla_alloc(&out->list, 2 * file->count + 1, sizeof *out->list));
    CLA_TRY(cla_alloc(&out->made, MADE_OF_ONE * file->count + 1, sizeof *out->made));
    for (size_t i = 0; i < file->count; i++) {
        const cla_st_tensor *t = &file->tensors[i];
        if (!strchr(t->name, '/')) { // tensors of the optimiser have a slash
            CLA_TRY(add(out, path, cla_params_find(params, t->name), t, weights));
        }
    }
    return sort(out);
}

void cla_export_tensors_free(export_tensors *out)
{
    for (size_t i = 0; i < out->made_count; i++) {
        free(out->made[i]);
    }
    free(out->made);
    free(out->list);
    *out = (export_tensors){ 0 };
}
