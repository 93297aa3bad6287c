/* quantise.c - 8-bit matrices with a scale for each row or column. */
#include "base/quantise.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

enum { LARGEST = 127 };
static const char suffix[] = ".scale";

void cla_quantise(int8_t *q, float *scale, const float *w, int64_t rows,
                  int64_t columns, bool by_rows)
{
    const int64_t scales = by_rows ? rows : columns;
    for (int64_t i = 0; i < scales; i++) {
        scale[i] = 0;
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            float *most = &scale[by_rows ? r : c];
            *most = fmaxf(*most, fabsf(w[r * columns + c]));
        }
    }
    for (int64_t i = 0; i < scales; i++) { // a denormal scale would lose digits
        scale[i] = scale[i] > 0 ? fmaxf(scale[i] / LARGEST, FLT_MIN) : 1;
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            const float x = w[r * columns + c] / scale[by_rows ? r : c];
            q[r * columns + c] = (int8_t)fminf(fmaxf(rintf(x), -LARGEST), LARGEST);
        }
    }
}

/* ---- files ------------------------------------------------------------------- */

static cla_status fail(const char *path, const cla_st_tensor *t, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: tensor '%s%s' %s", path, t->name, suffix, what);
}

static cla_status find(const cla_st_file *file, const cla_st_tensor *t,
                       const cla_st_tensor **scale)
{
    cla_text name = { 0 };
    CLA_TRY(cla_text_add(&name, "%s%s", t->name, suffix));
    *scale = cla_st_find(file, name.data);
    cla_text_free(&name);
    return CLA_OK;
}

cla_status cla_st_scale(const cla_st_file *file, const char *path,
                        const cla_st_tensor *t, const cla_st_tensor **scale,
                        bool *by_rows)
{
    CLA_TRY(find(file, t, scale));
    const cla_st_tensor *s = *scale;
    if (!s) {
        return fail(path, t, "is missing");
    }
    if (s->dtype != CLA_ST_F32 || s->rank != 2 || t->rank != 2) {
        return fail(path, t, "is no matrix of floats for a matrix");
    }
    *by_rows = s->shape[1] == 1 && s->shape[0] == t->shape[0];
    if (!*by_rows && (s->shape[0] != 1 || s->shape[1] != t->shape[1])) {
        return cla_fail(CLA_E_INPUT,
                        "%s: tensor '%s' is [%lld,%lld], must be [%lld,1] or [1,%lld]",
                        path, s->name, (long long)s->shape[0], (long long)s->shape[1],
                        (long long)t->shape[0], (long long)t->shape[1]);
    }
    const float *x = s->data;
    for (int64_t i = 0; i < s->size; i++) {
        if (!(x[i] > 0) || !isfinite(x[i])) {
            return cla_fail(CLA_E_INPUT,
                            "%s: tensor '%s': scale %lld is %g, must be finite and "
                            "above 0",
                            path, s->name, (long long)i, (double)x[i]);
        }
    }
    return CLA_OK;
}

cla_status cla_st_numbers(const cla_st_file *file, const char *path,
                          const cla_st_tensor *t, float *out)
{
    const cla_st_tensor *scale = NULL;
    bool by_rows = false;
    if (t->dtype != CLA_ST_I8) {
        cla_st_floats(t, out);
        return CLA_OK;
    }
    CLA_TRY(cla_st_scale(file, path, t, &scale, &by_rows));
    const int8_t *q = t->data;
    const float *s = scale->data;
    for (int64_t r = 0; r < t->shape[0]; r++) {
        for (int64_t c = 0; c < t->shape[1]; c++) {
            const int64_t i = r * t->shape[1] + c;
            out[i] = (float)q[i] * s[by_rows ? r : c];
        }
    }
    return CLA_OK;
}

/* Removes a tensor from the list. */
static void drop(cla_st_file *file, const cla_st_tensor *t)
{
    const size_t at = (size_t)(t - file->tensors);
    memmove(&file->tensors[at], &file->tensors[at + 1],
            (file->count - at - 1) * sizeof *file->tensors);
    file->count--;
}

static size_t packed_numbers(const cla_st_file *file)
{
    size_t numbers = 0;
    for (size_t i = 0; i < file->count; i++) {
        const cla_st_tensor *t = &file->tensors[i];
        numbers += t->dtype == CLA_ST_I8 ? (size_t)t->size : 0;
    }
    return numbers;
}

cla_status cla_st_unpack(cla_st_file *file, const char *path)
{
    const size_t numbers = packed_numbers(file);
    if (!numbers || file->unpacked) {
        return CLA_OK;
    }
    CLA_TRY(cla_alloc(&file->unpacked, numbers, sizeof *file->unpacked));
    float *at = file->unpacked;
    for (size_t i = 0; i < file->count;) {
        cla_st_tensor *t = &file->tensors[i];
        const cla_st_tensor *scale = NULL;
        if (t->dtype != CLA_ST_I8) {
            i++;
            continue;
        }
        CLA_TRY(cla_st_numbers(file, path, t, at));
        CLA_TRY(find(file, t, &scale));
        t->dtype = CLA_ST_F32;
        t->data = at;
        at += t->size;
        drop(file, scale);
        i = 0; // drop() has moved tensors
    }
    return CLA_OK;
}
