/* memory.c - device buffers: allocation within limits, transfers, guard bands. */
#include <string.h>

#include "base/foreign.h"
#include "runtime/internal.h"

/* Both patterns are NaNs, so an unwritten or stray element shows in any result. */
static const uint32_t BODY_PATTERN = 0x7FFFFFFFu, GUARD_PATTERN = 0x7FFFBEEFu;

static cla_status refuse_size(const cla_runtime *rt, size_t bytes, const char *what,
                              uint64_t limit)
{
    return cla_fail(CLA_E_NOMEM,
                    "device memory: %zu bytes asked, %s of '%s' is %llu bytes", bytes,
                    what, rt->device.name, (unsigned long long)limit);
}

static cla_status check_limits(cla_runtime *rt, size_t bytes)
{
    if (bytes > rt->device.max_buffer_bytes) {
        return refuse_size(rt, bytes, "the largest buffer",
                           rt->device.max_buffer_bytes);
    }
    if (rt->in_use_bytes + rt->spares.bytes + bytes > rt->device.memory_bytes) {
        cla_spares_limit(rt, 0);
    }
    if (rt->in_use_bytes + bytes > rt->device.memory_bytes) {
        return cla_fail(
            CLA_E_NOMEM,
            "device memory: %zu bytes asked beside %llu in use, '%s' has %llu", bytes,
            (unsigned long long)rt->in_use_bytes, rt->device.name,
            (unsigned long long)rt->device.memory_bytes);
    }
    return CLA_OK;
}

static cla_status create(cla_runtime *rt, size_t bytes, cl_mem *out)
{
    cl_int code = CL_SUCCESS;
    *out = clCreateBuffer(rt->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (code && rt->spares.count) {
        cla_spares_limit(rt, 0);
        *out = clCreateBuffer(rt->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    }
    if (code) {
        return cla_fail(CLA_E_NOMEM, "device memory: %zu bytes refused by '%s' (%s)",
                        bytes, rt->device.name, cla_cl_name(code));
    }
    return CLA_OK;
}

/* Creates a buffer with guard bands around the piece that the caller gets. */
static cla_status create_guarded(cla_runtime *rt, size_t bytes, cl_mem *out)
{
    cl_mem parent = NULL;
    const size_t body = (bytes + 3) / 4 * 4;
    CLA_TRY(create(rt, body + 2 * (size_t)GUARD_BYTES, &parent));
    const cla_status status = cla_grow(&rt->guarded, &rt->guarded_cap,
                                       rt->guarded_count + 1, sizeof *rt->guarded);
    if (status) {
        clReleaseMemObject(parent);
        return status;
    }
    const cl_buffer_region region = { GUARD_BYTES, body };
    cl_int code = CL_SUCCESS;
    *out = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                             &region, &code);
    if (code) {
        clReleaseMemObject(parent);
        return cla_cl_fail(code, "device memory: sub-buffer of %zu bytes", body);
    }
    rt->guarded[rt->guarded_count++] = (cla_guarded){ parent, *out, body };
    clEnqueueFillBuffer(rt->queue, parent, &GUARD_PATTERN, 4, 0,
                        body + 2 * (size_t)GUARD_BYTES, 0, NULL, NULL);
    clEnqueueFillBuffer(rt->queue, parent, &BODY_PATTERN, 4, GUARD_BYTES, body, 0, NULL,
                        NULL);
    return CLA_OK;
}

cla_status cla_memory_new(cla_memory *out, cla_runtime *rt, size_t bytes)
{
    *out = (cla_memory){ .bytes = bytes };
    CLA_TRY(cla_runtime_check(rt));
    CLA_TRY(check_limits(rt, bytes));
    cl_mem mem = NULL;
    const size_t size = bytes ? bytes : 4; // OpenCL has no empty buffers
    const bool bands = rt->guard && !rt->watched;
    CLA_TRY(bands ? create_guarded(rt, size, &mem) : create(rt, size, &mem));
    out->mem = mem;
    cla_memory_count(rt, bytes);
    return CLA_OK;
}

void cla_memory_count(cla_runtime *rt, size_t bytes)
{
    rt->in_use_bytes += bytes;
    if (rt->in_use_bytes > rt->peak_bytes) {
        rt->peak_bytes = rt->in_use_bytes;
    }
    cla_spares_limit(rt, rt->peak_bytes - rt->in_use_bytes);
}

void cla_memory_forget_peak(cla_runtime *rt)
{
    rt->peak_bytes = rt->in_use_bytes;
}

cla_status cla_memory_wrap(cla_memory *out, cla_runtime *rt, void *buffer, size_t bytes)
{
    size_t size = 0;
    cl_context home = NULL;
    cl_int code = clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, NULL);
    code = code ? code
                : clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof home, &home, NULL);
    if (!code && home != rt->context) {
        return cla_fail(CLA_E_USAGE, "tensor_wrap: buffer belongs to another context "
                                     "than the runtime's");
    }
    if (!code && size < bytes) {
        return cla_fail(CLA_E_SHAPE,
                        "tensor_wrap: buffer holds %zu bytes, %zu are needed", size,
                        bytes);
    }
    code = code ? code : clRetainMemObject(buffer);
    if (code) {
        return cla_cl_fail(code, "wrapped buffer");
    }
    rt->in_use_bytes += bytes;
    *out = (cla_memory){ .mem = buffer, .bytes = bytes };
    return CLA_OK;
}

cla_status cla_memory_borrow(cla_memory *out, cla_runtime *rt, void *host, size_t bytes)
{
    *out = (cla_memory){ .bytes = bytes };
    CLA_TRY(cla_runtime_check(rt));
    const bool checked = rt->guard || rt->watched || rt->record;
    const bool aligned = (uintptr_t)host % CLA_HOST_LINE == 0; // the widest vectors
    if (rt->device.kind != CLA_DEVICE_CPU || checked || !aligned || !bytes ||
        bytes > rt->device.max_buffer_bytes) {
        return CLA_OK;
    }
    cl_int code = CL_SUCCESS;
    cl_mem mem = clCreateBuffer(rt->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                bytes, host, &code);
    if (code) return CLA_OK; // this driver has other demands

    out->mem = mem;
    out->lent = host;
    rt->in_use_bytes += bytes;
    return CLA_OK;
}

size_t cla_memory_align(const cla_runtime *rt)
{
    return rt->align;
}

cla_status cla_memory_part(cla_memory *out, cla_runtime *rt, const cla_memory *whole,
                           size_t offset, size_t bytes)
{
    *out = (cla_memory){ .bytes = bytes, .part = true, .order = whole->order };
    out->lent = whole->lent ? whole->lent + offset : NULL;
    CLA_TRY(cla_runtime_check(rt));
    cl_mem buffer = whole->mem, parent = NULL; // OpenCL has no parts of parts
    size_t first = 0;
    clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem), &parent,
                       NULL);
    if (parent) {
        clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof first, &first, NULL);
        buffer = parent;
    }
    const cl_buffer_region region = { first + offset, bytes ? bytes : 4 };
    cl_int code = CL_SUCCESS;
    out->mem = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE,
                                 CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    return code ? cla_cl_fail(code, "part of %zu bytes at %zu", bytes, offset) : CLA_OK;
}

static void forget_guarded(cla_runtime *rt, cl_mem piece)
{
    for (size_t i = 0; i < rt->guarded_count; i++) {
        if (rt->guarded[i].piece == piece) {
            clReleaseMemObject(rt->guarded[i].parent);
            rt->guarded[i] = rt->guarded[--rt->guarded_count];
            return;
        }
    }
}

void cla_memory_free(cla_memory *memory, cla_runtime *rt)
{
    if (!memory->mem) {
        return;
    }
    if (!rt->watched) clReleaseMemObject(memory->mem); // else kept: see device.h
    forget_guarded(rt, memory->mem);
    rt->in_use_bytes -= memory->part ? 0 : memory->bytes;
    *memory = (cla_memory){ 0 };
}

void cla_memory_guard(cla_runtime *rt, bool on)
{
    rt->guard = on;
}

/* Gives whether the band at offset still holds its pattern. */
static cla_status band_whole(cla_runtime *rt, const cla_guarded *g, size_t offset,
                             bool *whole)
{
    uint32_t band[GUARD_BYTES / 4];
    const cl_int code = clEnqueueReadBuffer(rt->queue, g->parent, CL_TRUE, offset,
                                            GUARD_BYTES, band, 0, NULL, NULL);
    if (code) {
        return cla_cl_fail(code, "reading a guard band");
    }
    *whole = true;
    for (size_t i = 0; i < GUARD_BYTES / 4; i++) {
        *whole &= band[i] == GUARD_PATTERN;
    }
    return CLA_OK;
}

cla_status cla_memory_check_guards(cla_runtime *rt)
{
    for (size_t i = 0; i < rt->guarded_count; i++) {
        const cla_guarded *g = &rt->guarded[i];
        bool front = false, back = false;
        CLA_TRY(band_whole(rt, g, 0, &front));
        CLA_TRY(band_whole(rt, g, GUARD_BYTES + g->bytes, &back));
        if (!front || !back) {
            return cla_fail(CLA_E_DEVICE, "a kernel wrote %s a buffer of %zu bytes",
                            front ? "behind" : "in front of", g->bytes);
        }
    }
    return CLA_OK;
}

cla_status cla_memory_write(cla_runtime *rt, const cla_memory *to, size_t offset,
                            const void *host, size_t bytes)
{
    CLA_TRY(cla_memory_usual(to));
    if (!bytes || rt->record) {
        return bytes ? cla_profile_add(rt, "(write)", bytes, NULL) : CLA_OK;
    }
    CLA_TRY(cla_runtime_check(rt));
    void *staged = NULL;
    CLA_TRY(cla_staging_take(rt, bytes, &staged));
    if (staged) {
        memcpy(staged, host, bytes);
    } else {
        rt->waits.writes += rt->profile.on;
    }
    cl_event event = NULL;
    const cl_int code = clEnqueueWriteBuffer(
        rt->queue, to->mem, staged ? CL_FALSE : CL_TRUE, offset, bytes,
        staged ? staged : host, 0, NULL, staged || rt->profile.on ? &event : NULL);
    if (code) {
        return cla_cl_fail(code, "writing %zu bytes to the device", bytes);
    }
    if (!staged) {
        return cla_profile_add(rt, "(write)", bytes, event);
    }
    cla_staging_queued(rt, bytes, event);
    return cla_profile_shared(rt, "(write)", bytes, event);
}

/* Reads a buffer over host memory into that memory: a driver that works on a copy of
 * its own brings that back. */
static cla_status read_own(cla_runtime *rt, const cla_memory *from, size_t offset,
                           size_t bytes)
{
    cl_int code = CL_SUCCESS;
    void *mapped = clEnqueueMapBuffer(rt->queue, from->mem, CL_TRUE, CL_MAP_READ,
                                      offset, bytes, 0, NULL, NULL, &code);
    code = code ? code
                : clEnqueueUnmapMemObject(rt->queue, from->mem, mapped, 0, NULL, NULL);
    code = code ? code : clFinish(rt->queue);
    return code ? cla_cl_fail(code, "reading %zu bytes in place", bytes) : CLA_OK;
}

cla_status cla_memory_read(cla_runtime *rt, const cla_memory *from, size_t offset,
                           void *host, size_t bytes)
{
    if (!bytes) {
        return CLA_OK;
    }
    CLA_TRY(cla_runtime_check(rt));
    CLA_TRY(cla_memory_usual(from));
    if (rt->record) {
        memset(host, 0, bytes);
        return cla_profile_add(rt, "(read)", bytes, NULL);
    }
    if (from->lent && from->lent + offset == (char *)host) {
        return read_own(rt, from, offset, bytes);
    }
    cl_event event = NULL;
    rt->waits.reads += rt->profile.on;
    const cl_int code =
        clEnqueueReadBuffer(rt->queue, from->mem, CL_TRUE, offset, bytes, host, 0, NULL,
                            rt->profile.on ? &event : NULL);
    cla_foreign_enter(NULL);
    return code ? cla_cl_fail(code, "reading %zu bytes from the device", bytes)
                : cla_profile_add(rt, "(read)", bytes, event);
}
