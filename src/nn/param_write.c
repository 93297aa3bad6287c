/* param_write.c - writes values of parameters, converted to the type that they have. */
#include "base/half.h"
#include "base/quantise.h"
#include "nn/param.h"

cla_status cla_param_write_packed(const cla_params *params, const cla_param *p,
                                  const int8_t *q, const float *scale)
{
    const size_t scales = (size_t)cla_param_scales(p) * sizeof *scale;
    CLA_TRY(cla_memory_write(params->rt, &p->tensor->memory, 0, q,
                             (size_t)cla_size(p->tensor)));
    return cla_memory_write(params->rt, &p->tensor->scale, 0, scale, scales);
}

static cla_status write_quantised(const cla_params *params, const cla_param *p,
                                  const float *numbers)
{
    int8_t *q = NULL;
    float *scale = NULL;
    cla_status status = cla_alloc(&q, (size_t)cla_size(p->tensor) + 1, sizeof *q);
    status = status ? status
                    : cla_alloc(&scale, (size_t)cla_param_scales(p) + 1, sizeof *scale);
    if (!status) {
        cla_quantise(q, scale, numbers, p->shape[0], p->shape[1],
                     p->use == CLA_PARAM_TABLE);
        status = cla_param_write_packed(params, p, q, scale);
    }
    free(q);
    free(scale);
    return status;
}

static cla_status halve(uint16_t *half, const cla_param *p, const float *numbers)
{
    for (int64_t i = 0; i < cla_size(p->tensor); i++) {
        half[i] = cla_half_of(numbers[i]);
        if ((half[i] & 0x7c00) == 0x7c00) {
            return cla_fail(CLA_E_INPUT, "parameter '%s': %g is too large for a half",
                            p->name, (double)numbers[i]);
        }
    }
    return CLA_OK;
}

static cla_status write_halves(const cla_params *params, const cla_param *p,
                               const float *numbers)
{
    uint16_t *half = NULL;
    CLA_TRY(cla_alloc(&half, (size_t)cla_size(p->tensor) + 1, sizeof *half));
    cla_status status = halve(half, p, numbers);
    status = status ? status
                    : cla_memory_write(params->rt, &p->tensor->memory, 0, half,
                                       (size_t)cla_size(p->tensor) * sizeof *half);
    free(half);
    return status;
}

cla_status cla_param_write(const cla_params *params, const cla_param *p,
                           const float *numbers)
{
    switch (p->tensor->dtype) {
    case CLA_I8:
        return write_quantised(params, p, numbers);
    case CLA_F16:
        return write_halves(params, p, numbers);
    default:
        return cla_memory_write(params->rt, &params->values, p->offset, numbers,
                                (size_t)cla_size(p->tensor) * sizeof *numbers);
    }
}
