/* aside.c - copies beside the launches: they run while kernels do. */
#include <stddef.h>

#include "base/foreign.h"
#include "base/platform.h"
#include "runtime/internal.h"

struct cla_aside {
    cla_host_block head;
    cla_runtime *rt;
    cl_command_queue queue; // NULL: copies are waited for at once
    char unused;            // read to learn that the launches before have ended
    _Alignas(CLA_HOST_LINE) char data[];
};

/* Returns whether the device lets copies run beside launches. */
static bool copies_beside(const cla_runtime *rt)
{
    return !rt->watched && !rt->record;
}

static cla_status open_queue(cla_aside *a)
{
    cl_int code = CL_SUCCESS;
    a->queue = clCreateCommandQueue(a->rt->context, a->rt->id,
                                    CL_QUEUE_PROFILING_ENABLE, &code);
    return code ? cla_cl_fail(code, "a second queue of '%s'", a->rt->device.name)
                : CLA_OK;
}

cla_status cla_aside_new(cla_aside **out, cla_runtime *rt, size_t bytes)
{
    const size_t all = sizeof **out + bytes;
    *out = cla_host_block_new(all, all);
    if (!*out) {
        return CLA_E_NOMEM;
    }
    (*out)->rt = rt;
    const cla_status status = copies_beside(rt) ? open_queue(*out) : CLA_OK;
    if (status) {
        cla_aside_free(out, false);
    }
    return status;
}

void cla_aside_free(cla_aside **aside, bool lent)
{
    cla_aside *a = *aside;
    *aside = NULL;
    if (!a) {
        return;
    }
    const bool idle = !a->queue || (clFinish(a->rt->queue) == CL_SUCCESS &&
                                    clFinish(a->queue) == CL_SUCCESS);
    cla_foreign_enter(NULL);
    if (a->queue) {
        clReleaseCommandQueue(a->queue);
    }
    if (idle && !lent) {
        cla_os_aligned_free(a);
    } else {
        cla_host_block_keep(&a->head);
    }
}

void *cla_aside_host(cla_aside *aside)
{
    return aside->data;
}

/* Takes the event of a command that was queued. */
static cla_status take(cla_aside *a, const char *name, size_t bytes, cl_event event,
                       cla_end **end)
{
    if (!event) { // a driver that gives none has to end the command now
        clFinish(a->rt->queue);
        clFinish(a->queue);
    }
    if (*end) {
        clReleaseEvent((cl_event)*end);
    }
    *end = (cla_end *)event;
    return cla_profile_shared(a->rt, name, bytes, event);
}

cla_status cla_aside_launches(cla_aside *a, const cla_memory *any, cla_end **end)
{
    if (!a->queue) {
        return CLA_OK;
    }
    cl_event event = NULL;
    cl_int code = clEnqueueReadBuffer(a->rt->queue, any->mem, CL_FALSE, 0,
                                      sizeof a->unused, &a->unused, 0, NULL, &event);
    code = code ? code : clFlush(a->rt->queue);
    return code ? cla_cl_fail(code, "device '%s'", a->rt->device.name)
                : take(a, "(read)", sizeof a->unused, event, end);
}

cla_status cla_aside_read(cla_aside *a, size_t at, const cla_memory *from,
                          size_t offset, size_t bytes, cla_end **end)
{
    if (!a->queue) {
        return cla_memory_read(a->rt, from, offset, a->data + at, bytes);
    }
    CLA_TRY(cla_memory_usual(from));
    cl_event event = NULL;
    const cl_int code = clEnqueueReadBuffer(a->queue, from->mem, CL_FALSE, offset,
                                            bytes, a->data + at, 0, NULL, &event);
    return code ? cla_cl_fail(code, "reading %zu bytes from the device", bytes)
                : take(a, "(read)", bytes, event, end);
}

cla_status cla_aside_write(cla_aside *a, size_t at, const cla_memory *to, size_t offset,
                           size_t bytes, cla_end **end)
{
    if (!a->queue) {
        return cla_memory_write(a->rt, to, offset, a->data + at, bytes);
    }
    CLA_TRY(cla_memory_usual(to));
    cl_event event = NULL;
    const cl_int code = clEnqueueWriteBuffer(a->queue, to->mem, CL_FALSE, offset, bytes,
                                             a->data + at, 0, NULL, &event);
    return code ? cla_cl_fail(code, "writing %zu bytes to the device", bytes)
                : take(a, "(write)", bytes, event, end);
}

cla_status cla_aside_ended(cla_aside *a, cla_end **end, bool wait)
{
    bool ended = false;
    if (!*end) {
        return CLA_OK;
    }
    const cla_status status =
        cla_event_ended(a->rt, a->queue, (cl_event)*end,
                        wait ? &a->rt->waits.late_reads : NULL, &ended);
    if (ended) {
        clReleaseEvent((cl_event)*end);
        *end = NULL;
    }
    return status;
}
