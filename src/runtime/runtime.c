/* runtime.c - one device ready for work: context, queue, and all other state. */
#include <string.h>

#include "base/foreign.h"
#include "base/platform.h"
#include "clattn/opencl.h"
#include "runtime/device.h"
#include "runtime/internal.h"

static cla_status read_schedule(cla_runtime *rt)
{
    const bool cpu =
        rt->device.kind == CLA_DEVICE_CPU || rt->device.kind == CLA_DEVICE_SOFTWARE;
    rt->own_schedule = cpu ? CLA_SCHEDULE_TILE : CLA_SCHEDULE_GROUP;
    const char *text = cla_os_getenv("CLATTN_SCHEDULE");
    if (text && cla_equals_nocase(text, "tile")) {
        rt->own_schedule = CLA_SCHEDULE_TILE;
    } else if (text && cla_equals_nocase(text, "group")) {
        rt->own_schedule = CLA_SCHEDULE_GROUP;
    } else if (text && *text && !cla_equals_nocase(text, "auto")) {
        return cla_fail(CLA_E_USAGE,
                        "CLATTN_SCHEDULE is '%s', must be tile, group or auto", text);
    }
    rt->schedule = rt->own_schedule;
    return CLA_OK;
}

static cla_status read_kernel_path(cla_runtime *rt)
{
    const char *path = cla_os_getenv("CLATTN_KERNEL_PATH");
    return path && *path ? cla_strdup(&rt->kernel_path, path) : CLA_OK;
}

static cla_status open_queue(cla_runtime *rt)
{
    const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM,
                                                 (cl_context_properties)rt->platform,
                                                 0 };
    cl_int code = CL_SUCCESS;
    rt->context = clCreateContext(properties, 1, &rt->id, NULL, NULL, &code);
    if (code) {
        return cla_cl_fail(code, "device '%s': context", rt->device.name);
    }
    rt->queue =
        clCreateCommandQueue(rt->context, rt->id, CL_QUEUE_PROFILING_ENABLE, &code);
    return code ? cla_cl_fail(code, "device '%s': queue", rt->device.name) : CLA_OK;
}

/* Prepares everything that does not depend on who owns the context. */
static cla_status prepare(cla_runtime *rt)
{
    CLA_TRY(cla_record_init(rt));
    rt->watched = cla_device_watches(&rt->device);
    rt->align = cla_device_align(rt->id);
    cla_programs_init(rt);
    const int clock = rt->device.clock_mhz ? rt->device.clock_mhz : 1000;
    rt->slice_flops = 2e6 * clock * rt->device.compute_units;
    CLA_TRY(read_schedule(rt));
    CLA_TRY(cla_precision_init(rt));
    CLA_TRY(read_kernel_path(rt));
    cla_cache_init(rt);
    CLA_TRY(cla_class_init(rt));
    CLA_TRY(cla_tuning_init(rt));
    return rt->record ? CLA_OK : cla_selftest(rt);
}

static void take_device(cla_runtime *rt, const cla_device *device,
                        const cla_device_handle *handle)
{
    rt->device = *device;
    rt->platform = handle->platform;
    rt->id = handle->device;
    cla_foreign_library(device->platform_name);
}

static cla_status choose_device(cla_runtime *rt, const char *choice)
{
    cla_device *list = NULL;
    cla_device_handle *handles = NULL;
    int count = 0, index = 0;
    CLA_TRY(cla_devices_open(&list, &handles, &count));
    const char *text = choice ? choice : cla_os_getenv("CLATTN_DEVICE");
    const cla_status status = cla_device_choose(list, count, text, &index);
    if (!status) {
        cla_device_warn(list, count, text);
        take_device(rt, &list[index], &handles[index]);
    }
    free(list);
    free(handles);
    return status;
}

/* Finds the list's entry of an application's device. */
static cla_status find_device(cla_runtime *rt, cl_device_id id)
{
    cla_device *list = NULL;
    cla_device_handle *handles = NULL;
    int count = 0;
    CLA_TRY(cla_devices_open(&list, &handles, &count));
    cla_status status = cla_fail(
        CLA_E_USAGE, "wrapped queue: its device is none of the platforms' devices");
    for (int i = 0; i < count && status; i++) {
        if (handles[i].device == id) {
            take_device(rt, &list[i], &handles[i]);
            status = CLA_OK;
        }
    }
    free(list);
    free(handles);
    return status;
}

static cla_status build(cla_runtime *rt, const char *choice)
{
    rt->process = cla_os_process();
    CLA_TRY(choose_device(rt, choice));
    CLA_TRY(open_queue(rt));
    return prepare(rt);
}

cla_status cla_runtime_new(cla_runtime **rt, const char *device)
{
    CLA_NEED(rt);
    CLA_TRY(cla_alloc(rt, 1, sizeof **rt));
    const cla_status status = build(*rt, device);
    if (status) {
        cla_runtime_free(rt);
    }
    return status;
}

static cla_status build_share(cla_runtime *rt, const cla_runtime *of, int share,
                              int shares)
{
    rt->process = cla_os_process();
    CLA_TRY(cla_share_init(rt, of, share, shares));
    CLA_TRY(open_queue(rt));
    CLA_TRY(prepare(rt));
    rt->precision = of->precision;
    return CLA_OK;
}

cla_status cla_runtime_share(cla_runtime **rt, const cla_runtime *of, int share,
                             int shares)
{
    CLA_NEED(rt, of);
    CLA_TRY(cla_alloc(rt, 1, sizeof **rt));
    const cla_status status = build_share(*rt, of, share, shares);
    if (status) {
        cla_runtime_free(rt);
    }
    return status;
}

static cla_status build_wrapped(cla_runtime *rt, cl_context context,
                                cl_command_queue queue)
{
    rt->process = cla_os_process();
    cl_context own = NULL;
    cl_command_queue_properties properties = 0;
    cl_int code =
        clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof own, &own, NULL);
    code = code ? code
                : clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof rt->id, &rt->id,
                                        NULL);
    code = code ? code
                : clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties,
                                        &properties, NULL);
    if (code) {
        return cla_cl_fail(code, "wrapped queue");
    }
    if (own != context) {
        return cla_fail(CLA_E_USAGE, "runtime_wrap: queue belongs to another context");
    }
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
        return cla_fail(CLA_E_USAGE, "runtime_wrap: queue must be in order");
    }
    code = clRetainContext(context); // what is not retained must not be released
    rt->context = code ? NULL : context;
    code = code ? code : clRetainCommandQueue(queue);
    rt->queue = code ? NULL : queue;
    if (code) {
        return cla_cl_fail(code, "wrapped queue");
    }
    CLA_TRY(find_device(rt, rt->id));
    return prepare(rt);
}

cla_status cla_runtime_wrap(cla_runtime **rt, cl_context context,
                            cl_command_queue queue)
{
    CLA_NEED(rt, context, queue);
    CLA_TRY(cla_alloc(rt, 1, sizeof **rt));
    const cla_status status = build_wrapped(*rt, context, queue);
    if (status) {
        cla_runtime_free(rt);
    }
    return status;
}

static void free_extensions(cla_runtime *rt)
{
    while (rt->extensions) {
        cla_extension_slot *slot = rt->extensions;
        if (slot->extension.fini && slot->extension.state) {
            slot->extension.fini(rt, slot->extension.state);
        }
        rt->extensions = slot->next;
        free(slot);
    }
}

void cla_runtime_free(cla_runtime **out)
{
    if (!out || !*out) {
        return;
    }
    cla_runtime *rt = *out;
    cla_hold_wait(&(cla_hold){ 0 }, rt); // and never gives it back
    if (rt->process ==
        cla_os_process()) { // after a fork OpenCL objects must not be touched
        bool idle = true;
        if (rt->queue) {
            idle = clFinish(rt->queue) == CL_SUCCESS;
            cla_foreign_enter(NULL);
            cla_cache_save_programs(rt);
        }
        free_extensions(rt);
        cla_spares_fini(rt);
        cla_programs_fini(rt);
        cla_profile_fini(rt);
        cla_staging_fini(rt, idle);
        if (rt->queue) {
            clReleaseCommandQueue(rt->queue);
        }
        if (rt->context) {
            clReleaseContext(rt->context);
        }
    }
    cla_record_fini(rt);
    free(rt->tuning);
    free(rt->tuning_path);
    cla_cache_fini(rt);
    free(rt->kernel_path);
    free(rt->guarded);
    free(rt->profile.timed);
    free(rt->profile.rows);
    free(rt);
    *out = NULL;
}

cla_status cla_runtime_finish(cla_runtime *rt)
{
    CLA_NEED(rt);
    CLA_HOLD(rt);
    const cl_int code = clFinish(rt->queue);
    cla_foreign_enter(NULL);
    return code ? cla_cl_fail(code, "device '%s'", rt->device.name) : CLA_OK;
}

cla_status cla_runtime_flush(cla_runtime *rt)
{
    const cl_int code = clFlush(rt->queue);
    return code ? cla_cl_fail(code, "device '%s'", rt->device.name) : CLA_OK;
}

cla_status cla_runtime_extension(cla_runtime *rt, const void *key, cla_extension **out)
{
    for (cla_extension_slot *s = rt->extensions; s; s = s->next) {
        if (s->key == key) {
            *out = &s->extension;
            return CLA_OK;
        }
    }
    cla_extension_slot *slot = NULL;
    CLA_TRY(cla_alloc(&slot, 1, sizeof *slot));
    slot->key = key;
    slot->next = rt->extensions;
    rt->extensions = slot;
    *out = &slot->extension;
    return CLA_OK;
}

static void free_state(cla_runtime *rt, void *state)
{
    (void)rt;
    free(state);
}

cla_status cla_runtime_state(cla_runtime *rt, const void *key, size_t size,
                             void (*fini)(cla_runtime *rt, void *state), void *out)
{
    cla_extension *extension = NULL;
    CLA_TRY(cla_runtime_extension(rt, key, &extension));
    if (!extension->state) {
        CLA_TRY(cla_alloc(&extension->state, 1, size));
        extension->fini = fini ? fini : free_state;
    }
    memcpy(out, &extension->state, sizeof extension->state);
    return CLA_OK;
}

const cla_device *cla_runtime_device(const cla_runtime *rt)
{
    return rt ? &rt->device : NULL;
}

cla_schedule cla_runtime_schedule(const cla_runtime *rt)
{
    return rt ? rt->schedule : CLA_SCHEDULE_AUTO;
}

void cla_runtime_set_schedule(cla_runtime *rt, cla_schedule schedule)
{
    if (!rt || CLA_UNKNOWN("schedule", schedule, CLA_SCHEDULE_GROUP)) return;

    rt->schedule = schedule == CLA_SCHEDULE_AUTO ? rt->own_schedule : schedule;
}

cla_waits cla_runtime_waits(const cla_runtime *rt)
{
    return rt->waits;
}

uint64_t cla_runtime_peak_bytes(const cla_runtime *rt)
{
    return rt ? rt->peak_bytes : 0;
}

int cla_runtime_builds(const cla_runtime *rt)
{
    return rt->builds;
}

void cla_runtime_on_save(cla_runtime *rt, cla_save_told told, void *context)
{
    rt->told = told;
    rt->told_context = context;
}

bool cla_runtime_keeps_kernels(const cla_runtime *rt)
{
    return rt->keeps_kernels;
}

void *cla_runtime_queue(cla_runtime *rt)
{
    return rt->queue;
}

void *cla_runtime_context(cla_runtime *rt)
{
    return rt->context;
}

void *cla_runtime_device_id(cla_runtime *rt)
{
    return rt->id;
}

cl_command_queue cla_runtime_cl_queue(const cla_runtime *rt)
{
    return rt ? rt->queue : NULL;
}
