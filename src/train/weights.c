/* weights.c - the number type of a loaded model's weights. */
#include "train/weights.h"

#include <string.h>

#include "base/quantise.h"

cla_status cla_weights_parse(const char *text, cla_weights *weights)
{
    static const char *const names[] = { "float32", "float16", "int8" };
    *weights = CLA_WEIGHTS_STORED;
    for (int i = 0; text && i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *weights = (cla_weights)(CLA_WEIGHTS_FLOAT32 + i);
        }
    }
    return !text || *weights != CLA_WEIGHTS_STORED
               ? CLA_OK
               : cla_fail(CLA_E_USAGE,
                          "--weights is '%s', must be float32, float16 or int8", text);
}

cla_status cla_compute_parse(const char *text, cla_compute *compute)
{
    const bool bytes = text && strcmp(text, "int8") == 0;
    *compute = bytes ? CLA_COMPUTE_INT8 : CLA_COMPUTE_FLOAT32;
    return !text || bytes || strcmp(text, "float32") == 0
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "--compute is '%s', must be float32 or int8",
                          text);
}

cla_dtype cla_weights_dtype(cla_weights weights, const cla_st_file *file)
{
    bool half = weights == CLA_WEIGHTS_FLOAT16, byte = weights == CLA_WEIGHTS_INT8;
    for (size_t i = 0; weights == CLA_WEIGHTS_STORED && i < file->count; i++) {
        half = half || file->tensors[i].dtype == CLA_ST_F16;
        byte = byte || file->tensors[i].dtype == CLA_ST_I8;
    }
    return byte ? CLA_I8 : half ? CLA_F16 : CLA_F32;
}

cla_status cla_weights_write(const cla_params *params, const cla_param *p,
                             const cla_st_file *file, const char *path,
                             const cla_st_tensor *t)
{
    float *numbers = NULL;
    if (t->dtype == CLA_ST_I8 && p->tensor->dtype == CLA_I8) {
        const cla_st_tensor *scale = NULL;
        bool by_rows = false;
        CLA_TRY(cla_st_scale(file, path, t, &scale, &by_rows));
        if (scale->size == cla_param_scales(p) &&
            by_rows == (p->use == CLA_PARAM_TABLE)) {
            return cla_param_write_packed(params, p, t->data, scale->data);
        }
    }
    if (t->dtype == CLA_ST_F32) {
        return cla_param_write(params, p, t->data);
    }
    CLA_TRY(cla_alloc(&numbers, (size_t)t->size + 1, sizeof *numbers));
    cla_status status = cla_st_numbers(file, path, t, numbers);
    status = status ? status : cla_param_write(params, p, numbers);
    free(numbers);
    return status;
}
