/* interop.c - tensors over an application's own memory and buffers. */
#include "clattn/opencl.h"
#include "tensor/tensor.h"

static cla_status build(cla_tensor *t, cla_runtime *rt, cl_mem buffer, cla_dtype dtype,
                        int rank, const int64_t *shape)
{
    CLA_TRY(cla_tensor_describe(t, rt, dtype, rank, shape));
    return cla_memory_wrap(&t->memory, rt, buffer, (size_t)cla_size(t) * 4);
}

cla_status cla_tensor_wrap(cla_tensor **out, cla_runtime *rt, cl_mem buffer,
                           cla_dtype dtype, int rank, const int64_t *shape)
{
    CLA_NEED(out, rt, buffer);
    CLA_HOLD(rt);
    CLA_KNOWN("dtype", dtype, CLA_I32);
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    const cla_status status = build(*out, rt, buffer, dtype, rank, shape);
    if (status) {
        cla_tensor_free(out);
    }
    return status;
}

/* Fills t over host, or with a copy where the device cannot work on host. */
static cla_status borrow(cla_tensor *t, cla_runtime *rt, cla_dtype dtype, int rank,
                         const int64_t *shape, void *host)
{
    CLA_TRY(cla_tensor_describe(t, rt, dtype, rank, shape));
    const size_t bytes = (size_t)cla_size(t) * 4;
    CLA_TRY(cla_memory_borrow(&t->memory, rt, host, bytes));
    if (t->memory.mem) return CLA_OK;

    CLA_TRY(cla_memory_new(&t->memory, rt, bytes));
    return cla_memory_write(rt, &t->memory, 0, host, bytes);
}

cla_status cla_tensor_borrow(cla_tensor **out, cla_runtime *rt, cla_dtype dtype,
                             int rank, const int64_t *shape, void *host)
{
    CLA_NEED(out, rt, shape, host);
    CLA_HOLD(rt);
    *out = NULL;
    CLA_KNOWN("dtype", dtype, CLA_I32);
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    const cla_status status = borrow(*out, rt, dtype, rank, shape, host);
    if (status) {
        cla_tensor_free(out);
    }
    return status;
}

cla_status cla_tensor_borrow_grad(cla_tensor *t, void *host)
{
    CLA_NEED(t, host);
    CLA_HOLD(t->rt);
    if (t->tape || t->base || t->grad) {
        return cla_fail(CLA_E_USAGE,
                        "tensor_borrow_grad: %s is a result, or has a gradient already",
                        cla_shape_text(t));
    }
    cla_memory memory = { 0 };
    CLA_TRY(cla_memory_borrow(&memory, t->rt, host, (size_t)cla_size(t) * 4));
    if (!memory.mem) return CLA_OK;

    cla_status status = cla_alloc(&t->grad, 1, sizeof *t->grad);
    status = status ? status
                    : cla_tensor_describe(t->grad, t->rt, CLA_F32, t->rank, t->shape);
    if (status) {
        cla_memory_free(&memory, t->rt);
        return status;
    }
    t->grad->memory = memory;
    return CLA_OK;
}

cl_mem cla_tensor_buffer(const cla_tensor *t)
{
    if (!t) return NULL;
    CLA_HOLD_WAIT(t->rt);
    if (cla_memory_usual(&t->memory)) return NULL;

    for (cla_tensor *own = (cla_tensor *)t; own; own = own->base) {
        own->version = 0; // writes of the application are not tracked
    }
    return t->memory.mem;
}
