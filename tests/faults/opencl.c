/* opencl.c - wrappers of the OpenCL functions that the engine calls.
 *
 * Functions that release an object always succeed, as those of drivers do. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <string.h>

#include <CL/cl.h>

#include "faults/inject.h"

/* CL_OUT_OF_RESOURCES: the one error that every function may return. */
static bool fails(const char *function, cl_int *code)
{
    int value = CL_OUT_OF_RESOURCES;
    const bool fail = fault_here(FAULT_CL, function, &value);
    *code = value;
    return fail;
}

/* PARAMS is the list of parameters, ARGS that of their names. */
#define STATUS(name, PARAMS, ARGS)                              \
    cl_int __real_##name PARAMS;                                \
    cl_int __wrap_##name PARAMS;                                \
    cl_int __wrap_##name PARAMS                                 \
    {                                                           \
        cl_int code;                                            \
        return fails(#name, &code) ? code : __real_##name ARGS; \
    }

/* The last parameter is cl_int *error. */
#define CREATE(type, name, PARAMS, ARGS)             \
    type __real_##name PARAMS;                       \
    type __wrap_##name PARAMS;                       \
    type __wrap_##name PARAMS                        \
    {                                                \
        cl_int code;                                 \
        if (fails(#name, &code)) {                   \
            if (error) {                             \
                *error = code;                       \
            }                                        \
            return NULL;                             \
        }                                            \
        const type object = __real_##name ARGS;      \
        fault_hold(FAULT_CL_OBJECT, object ? 1 : 0); \
        return object;                               \
    }

#define RETAIN(name, type)                         \
    cl_int __real_##name(type object);             \
    cl_int __wrap_##name(type object);             \
    cl_int __wrap_##name(type object)              \
    {                                              \
        cl_int code;                               \
        if (fails(#name, &code)) {                 \
            return code;                           \
        }                                          \
        code = __real_##name(object);              \
        fault_hold(FAULT_CL_OBJECT, code ? 0 : 1); \
        return code;                               \
    }

#define RELEASE(name, type)                         \
    cl_int __real_##name(type object);              \
    cl_int __wrap_##name(type object);              \
    cl_int __wrap_##name(type object)               \
    {                                               \
        const cl_int code = __real_##name(object);  \
        fault_hold(FAULT_CL_OBJECT, code ? 0 : -1); \
        return code;                                \
    }

/* ---- queries ----------------------------------------------------------------- */

STATUS(clGetPlatformIDs, (cl_uint room, cl_platform_id *list, cl_uint *count),
       (room, list, count))
STATUS(clGetPlatformInfo,
       (cl_platform_id platform, cl_platform_info what, size_t room, void *value,
        size_t *size),
       (platform, what, room, value, size))
STATUS(clGetDeviceIDs,
       (cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *list,
        cl_uint *count),
       (platform, type, room, list, count))
STATUS(clGetCommandQueueInfo,
       (cl_command_queue queue, cl_command_queue_info what, size_t room, void *value,
        size_t *size),
       (queue, what, room, value, size))
STATUS(clGetMemObjectInfo,
       (cl_mem memory, cl_mem_info what, size_t room, void *value, size_t *size),
       (memory, what, room, value, size))
STATUS(clGetProgramInfo,
       (cl_program program, cl_program_info what, size_t room, void *value,
        size_t *size),
       (program, what, room, value, size))
STATUS(clGetProgramBuildInfo,
       (cl_program program, cl_device_id device, cl_program_build_info what,
        size_t room, void *value, size_t *size),
       (program, device, what, room, value, size))
STATUS(clGetKernelWorkGroupInfo,
       (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what,
        size_t room, void *value, size_t *size),
       (kernel, device, what, room, value, size))
WRAP(cl_int, clGetEventInfo, cl_event event, cl_event_info what, size_t room,
     void *value, size_t *size)
{
    int code = CL_OUT_OF_RESOURCES;
    return fault_here(FAULT_POLL, "clGetEventInfo", &code)
               ? code
               : __real_clGetEventInfo(event, what, room, value, size);
}
STATUS(clGetEventProfilingInfo,
       (cl_event event, cl_profiling_info what, size_t room, void *value, size_t *size),
       (event, what, room, value, size))

/* A device that lies: all bytes of the property are zero. */
WRAP(cl_int, clGetDeviceInfo, cl_device_id device, cl_device_info what, size_t room,
     void *value, size_t *size)
{
    cl_int code;
    if (fails("clGetDeviceInfo", &code)) {
        return code;
    }
    code = __real_clGetDeviceInfo(device, what, room, value, size);
    int unused = 0;
    if (value && fault_here(FAULT_ZERO, "zero_property", &unused)) {
        memset(value, 0, room);
    }
    return code;
}

/* ---- objects ----------------------------------------------------------------- */

typedef void (*context_notify)(const char *, const void *, size_t, void *);
typedef void (*program_notify)(cl_program, void *);

CREATE(cl_context, clCreateContext,
       (const cl_context_properties *properties, cl_uint count,
        const cl_device_id *devices, context_notify notify, void *user, cl_int *error),
       (properties, count, devices, notify, user, error))
CREATE(cl_command_queue, clCreateCommandQueue,
       (cl_context context, cl_device_id device, cl_command_queue_properties properties,
        cl_int *error),
       (context, device, properties, error))
CREATE(cl_mem, clCreateBuffer,
       (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error),
       (context, flags, size, host, error))
CREATE(cl_mem, clCreateSubBuffer,
       (cl_mem memory, cl_mem_flags flags, cl_buffer_create_type type,
        const void *region, cl_int *error),
       (memory, flags, type, region, error))
CREATE(cl_program, clCreateProgramWithSource,
       (cl_context context, cl_uint count, const char **text, const size_t *size,
        cl_int *error),
       (context, count, text, size, error))
CREATE(cl_program, clCreateProgramWithBinary,
       (cl_context context, cl_uint count, const cl_device_id *devices,
        const size_t *size, const unsigned char **binary, cl_int *status,
        cl_int *error),
       (context, count, devices, size, binary, status, error))
CREATE(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *error),
       (program, name, error))

STATUS(clBuildProgram,
       (cl_program program, cl_uint count, const cl_device_id *devices,
        const char *options, program_notify notify, void *user),
       (program, count, devices, options, notify, user))
STATUS(clSetKernelArg,
       (cl_kernel kernel, cl_uint index, size_t size, const void *value),
       (kernel, index, size, value))

STATUS(clCreateSubDevices, // kept until the process ends: not counted
       (cl_device_id device, const cl_device_partition_property *how, cl_uint count,
        cl_device_id *parts, cl_uint *made),
       (device, how, count, parts, made))
RETAIN(clRetainContext, cl_context)
RETAIN(clRetainCommandQueue, cl_command_queue)
RETAIN(clRetainMemObject, cl_mem)
RETAIN(clRetainEvent, cl_event)
RELEASE(clReleaseContext, cl_context)
RELEASE(clReleaseCommandQueue, cl_command_queue)
RELEASE(clReleaseMemObject, cl_mem)
RELEASE(clReleaseProgram, cl_program)
RELEASE(clReleaseKernel, cl_kernel)

/* ---- work -------------------------------------------------------------------- */

cl_int __real_clFinish(cl_command_queue queue);

/* A device that computes wrongly: the first number that is read is NaN. */
WRAP(cl_int, clEnqueueReadBuffer, cl_command_queue queue, cl_mem memory, cl_bool wait,
     size_t at, size_t size, void *host, cl_uint count, const cl_event *events,
     cl_event *event)
{
    cl_int code;
    if (fails("clEnqueueReadBuffer", &code)) {
        return code;
    }
    code = __real_clEnqueueReadBuffer(queue, memory, wait, at, size, host, count,
                                      events, event);
    int unused = 0;
    if (size >= sizeof(float) && fault_here(FAULT_NAN, "nan_read", &unused)) {
        __real_clFinish(queue); // a read that was not waited for is still to come
        memset(host, 0xff, sizeof(float));
    }
    return code;
}

STATUS(clEnqueueWriteBuffer,
       (cl_command_queue queue, cl_mem memory, cl_bool wait, size_t at, size_t size,
        const void *host, cl_uint count, const cl_event *events, cl_event *event),
       (queue, memory, wait, at, size, host, count, events, event))
STATUS(clEnqueueUnmapMemObject,
       (cl_command_queue queue, cl_mem memory, void *mapped, cl_uint count,
        const cl_event *events, cl_event *event),
       (queue, memory, mapped, count, events, event))

WRAP(void *, clEnqueueMapBuffer, cl_command_queue queue, cl_mem memory, cl_bool wait,
     cl_map_flags how, size_t at, size_t size, cl_uint count, const cl_event *events,
     cl_event *event, cl_int *error)
{
    cl_int code;
    if (fails("clEnqueueMapBuffer", &code)) {
        if (error) *error = code;
        return NULL;
    }
    return __real_clEnqueueMapBuffer(queue, memory, wait, how, at, size, count, events,
                                     event, error);
}

STATUS(clEnqueueCopyBuffer,
       (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_at, size_t to_at,
        size_t size, cl_uint count, const cl_event *events, cl_event *event),
       (queue, from, to, from_at, to_at, size, count, events, event))
STATUS(clEnqueueFillBuffer,
       (cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_size,
        size_t at, size_t size, cl_uint count, const cl_event *events, cl_event *event),
       (queue, memory, pattern, pattern_size, at, size, count, events, event))
STATUS(clEnqueueNDRangeKernel,
       (cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t *offset,
        const size_t *items, const size_t *group, cl_uint count, const cl_event *events,
        cl_event *event),
       (queue, kernel, axes, offset, items, group, count, events, event))
STATUS(clFlush, (cl_command_queue queue), (queue))
STATUS(clFinish, (cl_command_queue queue), (queue))
STATUS(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))
