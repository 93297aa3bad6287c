/* lie_calls.c - OpenCL functions that return false results on demand: the linker's
 * --wrap puts them in front of the loader's. */
#include <string.h>

#include "faults/lie.h"

static struct {
    cl_device_info what; // 0: no property is false
    lie_kind kind;
    cl_ulong value;
    const char *call; // NULL: no call fails
    cl_int code;
    bool told, record;
    cl_device_info asked[64];
    int count;
} lie;

void lie_about(cl_device_info what, lie_kind kind, cl_ulong value)
{
    lie.what = what;
    lie.kind = kind;
    lie.value = value;
}

void lie_in(const char *call, cl_int code)
{
    lie.call = call;
    lie.code = code;
    lie.told = false;
}

bool lie_told(void)
{
    return lie.told;
}

void lie_stop(void)
{
    lie.what = 0;
    lie.call = NULL;
}

void lie_record(void)
{
    lie.record = true;
    lie.count = 0;
}

int lie_recorded(cl_device_info *what, int most)
{
    lie.record = false;
    for (int i = 0; i < lie.count && i < most; i++) {
        what[i] = lie.asked[i];
    }
    return lie.count;
}

bool lie_is_cold(const char *call)
{
    return strcmp(call, "clCreateProgramWithSource") == 0 ||
           strncmp(call, "clGetProgram", 12) == 0; // Info and BuildInfo
}

/* Returns the code that this call must return, once; 0 when it may go on. Only for a
 * failed build is the log read, so the build fails, too. */
static cl_int false_code(const char *call)
{
    if (!lie.call || lie.told) return CL_SUCCESS;
    if (strcmp(lie.call, "clGetProgramBuildInfo") == 0 &&
        strcmp(call, "clBuildProgram") == 0) {
        return CL_BUILD_PROGRAM_FAILURE;
    }
    if (strcmp(lie.call, call) != 0) return CL_SUCCESS;
    lie.told = true;
    return lie.code;
}

static void note(cl_device_info what)
{
    for (int i = 0; i < lie.count; i++) {
        if (lie.asked[i] == what) return;
    }
    if (lie.count < 64) lie.asked[lie.count++] = what;
}

extern __typeof__(clGetDeviceInfo) __real_clGetDeviceInfo, __wrap_clGetDeviceInfo;

cl_int __wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size,
                              void *value, size_t *size_ret)
{
    size_t bytes = 0;
    if (lie.record) note(what);
    const cl_int code = false_code("clGetDeviceInfo");
    if (code) return code;
    if (what == lie.what && lie.kind == LIE_FAILS) return CL_INVALID_VALUE;
    const cl_int real = __real_clGetDeviceInfo(device, what, size, value, &bytes);
    if (size_ret) *size_ret = bytes;
    if (real || what != lie.what || !value) return real;
    bytes = bytes < size ? bytes : size;
    memset(value, lie.kind == LIE_HUGE ? 0xFF : 0, bytes);
    if (lie.kind == LIE_VALUE) { // little-endian: the low bytes come first
        memcpy(value, &lie.value, bytes < sizeof lie.value ? bytes : sizeof lie.value);
    }
    return real;
}

// clang-format off
#define STATUS(name, parameters, arguments)                      \
    extern __typeof__(name) __real_##name, __wrap_##name;        \
    cl_int __wrap_##name parameters                              \
    {                                                            \
        const cl_int lied = false_code(#name);                   \
        return lied ? lied : __real_##name arguments;            \
    }

#define OBJECT(type, name, parameters, arguments)                \
    extern __typeof__(name) __real_##name, __wrap_##name;        \
    type __wrap_##name parameters                                \
    {                                                            \
        const cl_int lied = false_code(#name);                   \
        if (lied && code) *code = lied;                          \
        return lied ? NULL : __real_##name arguments;            \
    }

OBJECT(cl_mem, clCreateBuffer, (cl_context context, cl_mem_flags flags, size_t size,
        void *host, cl_int *code),
    (context, flags, size, host, code))
OBJECT(cl_command_queue, clCreateCommandQueue, (cl_context context, cl_device_id
        device, cl_command_queue_properties how, cl_int *code),
    (context, device, how, code))
OBJECT(cl_context, clCreateContext, (const cl_context_properties *how, cl_uint n,
        const cl_device_id *devices, void(CL_CALLBACK *notify)(const char *, const
        void *, size_t, void *), void *data, cl_int *code),
    (how, n, devices, notify, data, code))
OBJECT(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int
        *code),
    (program, name, code))
OBJECT(cl_program, clCreateProgramWithBinary, (cl_context context, cl_uint n, const
        cl_device_id *devices, const size_t *lengths, const unsigned char **binaries,
        cl_int *taken, cl_int *code),
    (context, n, devices, lengths, binaries, taken, code))
OBJECT(cl_program, clCreateProgramWithSource, (cl_context context, cl_uint count,
        const char **strings, const size_t *lengths, cl_int *code),
    (context, count, strings, lengths, code))
OBJECT(cl_mem, clCreateSubBuffer, (cl_mem buffer, cl_mem_flags flags,
        cl_buffer_create_type type, const void *info, cl_int *code),
    (buffer, flags, type, info, code))

STATUS(clBuildProgram, (cl_program program, cl_uint n, const cl_device_id *devices,
        const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void
        *data),
    (program, n, devices, options, notify, data))
STATUS(clEnqueueCopyBuffer, (cl_command_queue queue, cl_mem from, cl_mem to, size_t
        from_at, size_t to_at, size_t size, cl_uint waits, const cl_event *list,
        cl_event *event),
    (queue, from, to, from_at, to_at, size, waits, list, event))
STATUS(clEnqueueFillBuffer, (cl_command_queue queue, cl_mem buffer, const void
        *pattern, size_t bytes, size_t offset, size_t size, cl_uint waits, const
        cl_event *list, cl_event *event),
    (queue, buffer, pattern, bytes, offset, size, waits, list, event))
STATUS(clEnqueueNDRangeKernel, (cl_command_queue queue, cl_kernel kernel, cl_uint
        dims, const size_t *offset, const size_t *global_size, const size_t
        *local_size, cl_uint waits, const cl_event *list, cl_event *event),
    (queue, kernel, dims, offset, global_size, local_size, waits, list, event))
STATUS(clEnqueueReadBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool wait,
        size_t offset, size_t size, void *ptr, cl_uint waits, const cl_event *list,
        cl_event *event),
    (queue, buffer, wait, offset, size, ptr, waits, list, event))
STATUS(clEnqueueWriteBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool wait,
        size_t offset, size_t size, const void *ptr, cl_uint waits, const cl_event
        *list, cl_event *event),
    (queue, buffer, wait, offset, size, ptr, waits, list, event))
STATUS(clFinish, (cl_command_queue queue),
    (queue))
STATUS(clFlush, (cl_command_queue queue),
    (queue))
STATUS(clGetCommandQueueInfo, (cl_command_queue queue, cl_command_queue_info what,
        size_t size, void *value, size_t *size_ret),
    (queue, what, size, value, size_ret))
STATUS(clGetDeviceIDs, (cl_platform_id platform, cl_device_type type, cl_uint n,
        cl_device_id *devices, cl_uint *found),
    (platform, type, n, devices, found))
STATUS(clGetEventInfo, (cl_event event, cl_event_info what, size_t size, void *value,
        size_t *size_ret),
    (event, what, size, value, size_ret))
STATUS(clGetEventProfilingInfo, (cl_event event, cl_profiling_info what, size_t size,
        void *value, size_t *size_ret),
    (event, what, size, value, size_ret))
STATUS(clGetMemObjectInfo, (cl_mem mem, cl_mem_info what, size_t size, void *value,
        size_t *size_ret),
    (mem, what, size, value, size_ret))
STATUS(clGetPlatformIDs, (cl_uint n, cl_platform_id *platforms, cl_uint *found),
    (n, platforms, found))
STATUS(clGetPlatformInfo, (cl_platform_id platform, cl_platform_info what, size_t
        size, void *value, size_t *size_ret),
    (platform, what, size, value, size_ret))
STATUS(clGetProgramBuildInfo, (cl_program program, cl_device_id device,
        cl_program_build_info what, size_t size, void *value, size_t *size_ret),
    (program, device, what, size, value, size_ret))
STATUS(clGetProgramInfo, (cl_program program, cl_program_info what, size_t size, void
        *value, size_t *size_ret),
    (program, what, size, value, size_ret))
STATUS(clReleaseCommandQueue, (cl_command_queue queue),
    (queue))
STATUS(clReleaseContext, (cl_context context),
    (context))
STATUS(clReleaseEvent, (cl_event event),
    (event))
STATUS(clReleaseKernel, (cl_kernel kernel),
    (kernel))
STATUS(clReleaseMemObject, (cl_mem mem),
    (mem))
STATUS(clReleaseProgram, (cl_program program),
    (program))
STATUS(clRetainCommandQueue, (cl_command_queue queue),
    (queue))
STATUS(clRetainContext, (cl_context context),
    (context))
STATUS(clRetainEvent, (cl_event event),
    (event))
STATUS(clRetainMemObject, (cl_mem mem),
    (mem))
STATUS(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void
        *value),
    (kernel, index, size, value))
STATUS(clWaitForEvents, (cl_uint n, const cl_event *events),
    (n, events))
// clang-format on

const char *const lie_calls[] = {
    "clBuildProgram",
    "clCreateBuffer",
    "clCreateCommandQueue",
    "clCreateContext",
    "clCreateKernel",
    "clCreateProgramWithBinary",
    "clCreateProgramWithSource",
    "clCreateSubBuffer",
    "clEnqueueCopyBuffer",
    "clEnqueueFillBuffer",
    "clEnqueueNDRangeKernel",
    "clEnqueueReadBuffer",
    "clEnqueueWriteBuffer",
    "clFinish",
    "clFlush",
    "clGetCommandQueueInfo",
    "clGetDeviceIDs",
    "clGetDeviceInfo",
    "clGetEventInfo",
    "clGetEventProfilingInfo",
    "clGetMemObjectInfo",
    "clGetPlatformIDs",
    "clGetPlatformInfo",
    "clGetProgramBuildInfo",
    "clGetProgramInfo",
    "clReleaseCommandQueue",
    "clReleaseContext",
    "clReleaseEvent",
    "clReleaseKernel",
    "clReleaseMemObject",
    "clReleaseProgram",
    "clRetainCommandQueue",
    "clRetainContext",
    "clRetainEvent",
    "clRetainMemObject",
    "clSetKernelArg",
    "clWaitForEvents",
    NULL,
};
