/* made.c - a list of tensors in memory, to be written as a file of weights. */
#include "train/made.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

cla_status cla_made_add(cla_made *made, const char *name, int64_t rows, int64_t columns,
                        float **numbers)
{
    const int64_t size = (rows ? rows : 1) * columns;
    char *copy = NULL;
    *numbers = NULL;
    CLA_TRY(
        cla_grow(&made->tensors, &made->cap, made->count + 1, sizeof *made->tensors));
    CLA_TRY(cla_strdup(&copy, name));
    const cla_status status = cla_alloc(numbers, (size_t)size + 1, sizeof **numbers);
    if (status) {
        free(copy);
        return status;
    }
    cla_st_tensor *t = &made->tensors[made->count++];
    *t = (cla_st_tensor){ .name = copy,
                          .dtype = CLA_ST_F32,
                          .rank = rows ? 2 : 1,
                          .size = size,
                          .data = *numbers };
    t->shape[0] = rows ? rows : columns;
    t->shape[1] = rows ? columns : 0;
    made->numbers += size;
    return CLA_OK;
}

void cla_made_free(cla_made *made)
{
    for (size_t i = 0; i < made->count; i++) {
        free((void *)made->tensors[i].name);
        free((void *)made->tensors[i].data);
    }
    free(made->tensors);
    *made = (cla_made){ 0 };
}

cla_status cla_made_halve(cla_st_tensor *t, const char *path)
{
    uint16_t *half = (uint16_t *)t->data; // in place: writes stay behind the reads
    const float *x = t->data;
    if (t->dtype != CLA_ST_F32) {
        return CLA_OK;
    }
    for (int64_t i = 0; i < t->size; i++) {
        float number = 0;
        memcpy(&number, x + i, sizeof number);
        if (isfinite(number) && fabsf(number) >= 65520) {
            return cla_fail(CLA_E_INPUT, "%s: tensor '%s': %g is too large for a half",
                            path, t->name, (double)number);
        }
        half[i] = cla_half_of(number);
    }
    t->dtype = CLA_ST_F16;
    return CLA_OK;
}
