/* transfer.c - numbers in and out of tensors. */
#include <string.h>

#include "tensor/tensor.h"

/* Views have gaps between their rows, which a single copy would cross. */
static cla_status refuse_view(const cla_tensor *t)
{
    return cla_is_columns(t)
               ? cla_fail(CLA_E_SHAPE,
                          "transfer: %s is a column view; transfer its base",
                          cla_shape_text(t))
               : CLA_OK;
}

cla_status cla_tensor_upload(cla_tensor *t, const void *host)
{
    CLA_NEED(t);
    CLA_HOLD(t->rt);
    CLA_TRY(refuse_view(t));
    if (cla_size(t)) CLA_NEED(host);
    cla_tensor_changed(t);
    return cla_memory_write(t->rt, &t->memory, 0, host, (size_t)cla_size(t) * 4);
}

cla_status cla_tensor_download(const cla_tensor *t, void *host)
{
    CLA_NEED(t);
    CLA_HOLD(t->rt);
    CLA_TRY(refuse_view(t));
    if (cla_size(t)) CLA_NEED(host);
    return cla_memory_read(t->rt, &t->memory, 0, host, (size_t)cla_size(t) * 4);
}

cla_status cla_tensor_fill(cla_tensor *t, float value)
{
    CLA_NEED(t);
    CLA_HOLD(t->rt);
    CLA_TRY(refuse_view(t));
    if (t->dtype != CLA_F32) {
        return cla_fail(CLA_E_SHAPE, "fill: the tensor holds i32, must hold f32");
    }
    cla_tensor_changed(t);
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return cla_memory_fill(t->rt, &t->memory, bits);
}
