/* null_device.c - OpenCL without kernels: buffers hold what is written to them, and a
 * launch computes nothing.
 *
 * All of the host's code runs then, thousands of times a second. These functions are
 * defined in the program itself and replace the library's. They check what a driver may
 * leave unchecked: a transfer outside its buffer or a launch without its arguments
 * aborts. Only the self-test's kernels have results, since a device that fails it is
 * refused. */
#include "null_device.h"

#include <string.h>

#include "fuzz.h"

static struct _cl_platform_id the_platform;
static struct _cl_device_id the_device;

static cl_int give(const void *value, size_t bytes, size_t room, void *out,
                   size_t *need)
{
    if (need) {
        *need = bytes;
    }
    if (out && room < bytes) {
        return CL_INVALID_VALUE;
    }
    if (out) {
        memcpy(out, value, bytes);
    }
    return CL_SUCCESS;
}

static cl_int give_text(const char *text, size_t room, void *out, size_t *need)
{
    return give(text, strlen(text) + 1, room, out, need);
}

static void *make(size_t bytes, cl_int *code)
{
    void *made = calloc(1, bytes);
    if (code) {
        *code = made ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    return made;
}

/* ---- platform and device -------------------------------------------------------- */

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *count)
{
    if (out && room) {
        *out = &the_platform;
    }
    if (count) {
        *count = 1;
    }
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t room,
                         void *out, size_t *need)
{
    (void)platform;
    return give_text(what == CL_PLATFORM_NAME ? "Null" : "1", room, out, need);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room,
                      cl_device_id *out, cl_uint *count)
{
    (void)platform;
    (void)type;
    if (out && room) {
        *out = &the_device;
    }
    if (count) {
        *count = 1;
    }
    return CL_SUCCESS;
}

static cl_int give_number(cl_device_info what, size_t room, void *out, size_t *need)
{
    static const struct {
        cl_device_info what;
        cl_uint value;
    } table[] = {
        { CL_DEVICE_MAX_COMPUTE_UNITS, 4 },
        { CL_DEVICE_MAX_CLOCK_FREQUENCY, 1000 },
        { CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, 3 },
        { CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 8 },
        { CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 8 },
        { CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024 },
        { CL_DEVICE_HOST_UNIFIED_MEMORY, CL_TRUE },
        { CL_DEVICE_AVAILABLE, CL_TRUE },
        { CL_DEVICE_COMPILER_AVAILABLE, CL_TRUE },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].what == what) {
            return give(&table[i].value, sizeof table[i].value, room, out, need);
        }
    }
    return CL_INVALID_VALUE;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void *out,
                       size_t *need)
{
    static const size_t sides[3] = { MAX_GROUP, MAX_GROUP, MAX_GROUP };
    const cl_ulong largest = 64ull << 20, memory = 512ull << 20, local = 64 << 10;
    const cl_device_type type = CL_DEVICE_TYPE_CPU;
    (void)device;
    switch (what) {
    case CL_DEVICE_TYPE:
        return give(&type, sizeof type, room, out, need);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return give(&memory, sizeof memory, room, out, need);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return give(&largest, sizeof largest, room, out, need);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return give(&local, sizeof local, room, out, need);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return give(sides, sizeof *sides, room, out, need);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return give(sides, sizeof sides, room, out, need);
    case CL_DEVICE_NAME:
        return give_text("null device", room, out, need);
    case CL_DEVICE_VENDOR:
        return give_text("clattn", room, out, need);
    case CL_DRIVER_VERSION:
        return give_text("1", room, out, need);
    case CL_DEVICE_VERSION:
    case CL_DEVICE_OPENCL_C_VERSION:
        return give_text("OpenCL 1.2 null", room, out, need);
    case CL_DEVICE_EXTENSIONS:
        return give_text("", room, out, need);
    default:
        return give_number(what, room, out, need);
    }
}

/* ---- contexts and queues -------------------------------------------------------- */

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *devices,
                           void(CL_CALLBACK *tell)(const char *, const void *, size_t,
                                                   void *),
                           void *user, cl_int *code)
{
    (void)properties;
    (void)count;
    (void)devices;
    (void)tell;
    (void)user;
    cl_context made = make(sizeof *made, code);
    if (made) {
        made->references = 1;
    }
    return made;
}

cl_int clRetainContext(cl_context context)
{
    context->references++;
    return CL_SUCCESS;
}

cl_int clReleaseContext(cl_context context)
{
    if (--context->references == 0) {
        free(context);
    }
    return CL_SUCCESS;
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties,
                                      cl_int *code)
{
    (void)device;
    (void)properties;
    cl_command_queue made = make(sizeof *made, code);
    if (made) {
        *made = (struct _cl_command_queue){ 1, context };
    }
    return made;
}

cl_int clRetainCommandQueue(cl_command_queue queue)
{
    queue->references++;
    return CL_SUCCESS;
}

cl_int clReleaseCommandQueue(cl_command_queue queue)
{
    if (--queue->references == 0) {
        free(queue);
    }
    return CL_SUCCESS;
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what,
                             size_t room, void *out, size_t *need)
{
    const cl_device_id device = &the_device;
    const cl_command_queue_properties none = 0;
    switch (what) {
    case CL_QUEUE_CONTEXT:
        return give(&queue->context, sizeof queue->context, room, out, need);
    case CL_QUEUE_DEVICE:
        return give(&device, sizeof device, room, out, need);
    default:
        return give(&none, sizeof none, room, out, need);
    }
}

cl_int clFlush(cl_command_queue queue)
{
    return queue->references > 0 ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

cl_int clFinish(cl_command_queue queue)
{
    return clFlush(queue);
}

/* ---- memory --------------------------------------------------------------------- */

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                      cl_int *code)
{
    (void)context;
    (void)flags;
    (void)host;
    if (!size) {
        *code = CL_INVALID_BUFFER_SIZE;
        return NULL;
    }
    cl_mem made = make(sizeof *made, code);
    unsigned char *bytes = made ? make(size, code) : NULL;
    if (!bytes) {
        free(made);
        return NULL;
    }
    *made = (struct _cl_mem){ 1, bytes, size, NULL };
    return made;
}

cl_mem clCreateSubBuffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type,
                         const void *info, cl_int *code)
{
    const cl_buffer_region *region = info;
    (void)flags;
    (void)type;
    if (!region->size || region->origin > parent->size ||
        region->size > parent->size - region->origin) {
        *code = CL_INVALID_VALUE;
        return NULL;
    }
    cl_mem made = make(sizeof *made, code);
    if (made) {
        parent->references++;
        *made =
            (struct _cl_mem){ 1, parent->bytes + region->origin, region->size, parent };
    }
    return made;
}

cl_int clRetainMemObject(cl_mem mem)
{
    mem->references++;
    return CL_SUCCESS;
}

cl_int clReleaseMemObject(cl_mem mem)
{
    FUZZ_CHECK(mem->references > 0, "a buffer is released once too often");
    if (--mem->references == 0) {
        if (mem->parent) {
            clReleaseMemObject(mem->parent);
        } else {
            free(mem->bytes);
        }
        free(mem);
    }
    return CL_SUCCESS;
}

cl_int clGetMemObjectInfo(cl_mem mem, cl_mem_info what, size_t room, void *out,
                          size_t *need)
{
    return what == CL_MEM_SIZE ? give(&mem->size, sizeof mem->size, room, out, need)
                               : CL_INVALID_VALUE;
}

static unsigned char *place(cl_mem mem, size_t offset, size_t size, const char *what)
{
    FUZZ_CHECK(mem->references > 0 && offset <= mem->size && size <= mem->size - offset,
               "%s of %zu bytes at %zu of a buffer of %zu", what, size, offset,
               mem->size);
    return mem->bytes + offset;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait,
                           size_t offset, size_t size, void *out, cl_uint events,
                           const cl_event *list, cl_event *event)
{
    (void)queue;
    (void)wait;
    (void)events;
    (void)list;
    (void)event;
    memcpy(out, place(mem, offset, size, "a read"), size);
    return CL_SUCCESS;
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait,
                            size_t offset, size_t size, const void *from,
                            cl_uint events, const cl_event *list, cl_event *event)
{
    (void)queue;
    (void)wait;
    (void)events;
    (void)list;
    (void)event;
    memcpy(place(mem, offset, size, "a write"), from, size);
    return CL_SUCCESS;
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem mem, const void *pattern,
                           size_t pattern_size, size_t offset, size_t size,
                           cl_uint events, const cl_event *list, cl_event *event)
{
    (void)queue;
    (void)events;
    (void)list;
    (void)event;
    unsigned char *at = place(mem, offset, size, "a fill");
    FUZZ_CHECK(size % pattern_size == 0, "a fill of %zu bytes by %zu", size,
               pattern_size);
    for (size_t i = 0; i < size; i += pattern_size) {
        memcpy(at + i, pattern, pattern_size);
    }
    return CL_SUCCESS;
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                           size_t from_offset, size_t to_offset, size_t size,
                           cl_uint events, const cl_event *list, cl_event *event)
{
    (void)queue;
    (void)events;
    (void)list;
    (void)event;
    memmove(place(to, to_offset, size, "a copy"),
            place(from, from_offset, size, "a copy"), size);
    return CL_SUCCESS;
}

/* clFFT would take the objects above for a driver's: it must not start. */
int clfftSetup(const void *setup);
int clfftSetup(const void *setup)
{
    return setup ? CL_OUT_OF_HOST_MEMORY : CL_INVALID_VALUE;
}
