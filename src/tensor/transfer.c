/* transfer.c - copies numbers into and out of tensors. */
#include <string.h>

#include "tensor/tensor.h"

/* Fails for column views: a single copy would include the gaps between their rows. */
static cla_status refuse_view(const cla_tensor *t)
{
    return cla_is_columns(t)
               ? cla_fail(CLA_E_SHAPE,
                          "transfer: %s is a column view; transfer its base",
                          cla_shape_text(t))
               : CLA_OK;
}

static cla_status refuse_stored(const char *op, const cla_tensor *t)
{
    return cla_stored(t)
               ? cla_fail(CLA_E_SHAPE, "%s: %s holds %s, must hold f32 or i32", op,
                          cla_shape_text(t), cla_dtype_name(t->dtype))
               : CLA_OK;
}

/* Checks that t holds f32 or i32 and these elements, and that host is not NULL. */
static cla_status check_part(const char *op, const cla_tensor *t, int64_t first,
                             int64_t count, const void *host)
{
    CLA_TRY(refuse_view(t));
    CLA_TRY(refuse_stored(op, t));
    if (first < 0 || count < 0 || first > cla_size(t) - count) {
        return cla_fail(CLA_E_SHAPE, "%s: %lld elements from %lld on of %s", op,
                        (long long)count, (long long)first, cla_shape_text(t));
    }
    return host || !count ? CLA_OK : cla_fail(CLA_E_USAGE, "%s: host is NULL", op);
}

static cla_status write_part(const char *op, cla_tensor *t, int64_t first,
                             int64_t count, const void *host)
{
    CLA_TRY(check_part(op, t, first, count, host));
    cla_tensor_changed(t);
    return cla_memory_write(t->rt, &t->memory, (size_t)first * 4, host,
                            (size_t)count * 4);
}

static cla_status read_part(const char *op, const cla_tensor *t, int64_t first,
                            int64_t count, void *host)
{
    CLA_TRY(check_part(op, t, first, count, host));
    return cla_memory_read(t->rt, &t->memory, (size_t)first * 4, host,
                           (size_t)count * 4);
}

cla_status cla_tensor_upload(cla_tensor *t, const void *host)
{
    CLA_NEED(t);
    CLA_HOLD(t->rt);
    return write_part("tensor_upload", t, 0, cla_size(t), host);
}

cla_status cla_tensor_download(const cla_tensor *t, void *host)
{
    CLA_NEED(t);
    CLA_HOLD(t->rt);
    return read_part("tensor_download", t, 0, cla_size(t), host);
}

cla_status cla_tensor_write(cla_tensor *t, int64_t first, int64_t count,
                            const void *host)
{
    CLA_NEED(t);
    CLA_HOLD(t->rt);
    return write_part("tensor_write", t, first, count, host);
}

cla_status cla_tensor_read(const cla_tensor *t, int64_t first, int64_t count,
                           void *host)
{
    CLA_NEED(t);
    CLA_HOLD(t->rt);
    return read_part("tensor_read", t, first, count, host);
}

cla_status cla_tensor_copy(cla_tensor **out, const cla_tensor *t)
{
    CLA_NEED(out, t);
    CLA_HOLD(t->rt);
    *out = NULL;
    CLA_TRY(refuse_view(t));
    CLA_TRY(refuse_stored("tensor_copy", t));
    CLA_TRY(cla_tensor_new(out, t->rt, t->dtype, t->rank, t->shape));
    const size_t bytes = (size_t)cla_size(t) * 4;
    const cla_status status =
        cla_memory_copy(t->rt, &(*out)->memory, 0, &t->memory, 0, bytes);
    if (status) {
        cla_tensor_free(out);
    }
    return status;
}

cla_status cla_tensor_fill(cla_tensor *t, float value)
{
    CLA_NEED(t);
    CLA_HOLD(t->rt);
    CLA_TRY(refuse_view(t));
    if (t->dtype != CLA_F32) {
        return cla_fail(CLA_E_SHAPE, "fill: the tensor holds %s, must hold f32",
                        cla_dtype_name(t->dtype));
    }
    cla_tensor_changed(t);
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return cla_memory_fill(t->rt, &t->memory, bits);
}
