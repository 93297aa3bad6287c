/* null_kernels.c - programs and launches of the null device. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "fuzz.h"
#include "null_device.h"

cl_program clCreateProgramWithSource(cl_context context, cl_uint count,
                                     const char **texts, const size_t *sizes,
                                     cl_int *code)
{
    (void)context;
    (void)sizes;
    FUZZ_CHECK(count == 1 && texts[0] && *texts[0], "a program without a text");
    cl_program made = calloc(1, sizeof *made);
    *code = made ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    return made;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count,
                                     const cl_device_id *devices, const size_t *sizes,
                                     const unsigned char **binaries, cl_int *taken,
                                     cl_int *code)
{
    (void)context;
    (void)count;
    (void)devices;
    (void)sizes;
    (void)binaries;
    *taken = CL_INVALID_BINARY;
    *code = CL_INVALID_BINARY;
    return NULL;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                      const char *options, void(CL_CALLBACK *tell)(cl_program, void *),
                      void *user)
{
    (void)program;
    (void)count;
    (void)devices;
    (void)options;
    (void)tell;
    (void)user;
    return CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t room,
                        void *out, size_t *need)
{
    (void)program;
    (void)what;
    (void)need;
    memset(out, 0, room); // the size of a binary is 0: there is none
    return CL_SUCCESS;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device,
                             cl_program_build_info what, size_t room, void *out,
                             size_t *need)
{
    (void)program;
    (void)device;
    (void)what;
    if (need) {
        *need = 1;
    }
    if (out && room) {
        *(char *)out = 0;
    }
    return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program program)
{
    free(program);
    return CL_SUCCESS;
}

/* ---- kernels -------------------------------------------------------------------- */

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code)
{
    (void)program;
    cl_kernel made = calloc(1, sizeof *made);
    *code = made ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    if (made) {
        snprintf(made->name, sizeof made->name, "%s", name);
    }
    return made;
}

cl_int clReleaseKernel(cl_kernel kernel)
{
    free(kernel);
    return CL_SUCCESS;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint at, size_t size, const void *value)
{
    if (at >= 32 || !size) {
        return CL_INVALID_ARG_INDEX;
    }
    if (at == 0 && value && size == sizeof kernel->out) {
        memcpy(&kernel->out, value, size);
    }
    kernel->set |= 1u << at;
    return CL_SUCCESS;
}

/* ---- the self-test --------------------------------------------------------------- */

enum { WIDTH = 64 };

/* Returns the input of src/runtime/selftest.c. */
static float self_test_input(int i)
{
    return (float)((i * 7) % 13 - 6);
}

static float reduced(int at)
{
    const int first = at / WIDTH * WIDTH;
    float total = 0, top = self_test_input(first);
    for (int i = first; i < first + WIDTH; i++) {
        const float x = self_test_input(i);
        total += x;
        top = x > top ? x : top;
    }
    return total + self_test_input(at) * top;
}

static float product(int at)
{
    float sum = 0;
    for (int k = 0; k < WIDTH; k++) {
        sum += self_test_input(at / WIDTH * WIDTH + k) *
               self_test_input(k * WIDTH + at % WIDTH);
    }
    return sum;
}

static float drawn(int at)
{
    const uint32_t counter[4] = { (uint32_t)at, 1, 2, 3 }, key[2] = { 4, 5 };
    return cla_uniform(cla_philox4x32(counter, key).v[0]);
}

static float looped(int at)
{
    uint32_t x = (uint32_t)at;
    for (int i = 0; i < 100000 && at < WIDTH; i++) {
        x = x * 1664525u + 1013904223u;
    }
    return (float)(x >> 8);
}

static void self_test(const struct _cl_kernel *kernel)
{
    static const struct {
        const char *name;
        float (*answer)(int at);
    } known[] = {
        { "selftest_reduce", reduced },
        { "selftest_product", product },
        { "selftest_philox", drawn },
        { "selftest_loop", looped },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, kernel->name) == 0) {
            float *y = (float *)(void *)kernel->out->bytes;
            for (int at = 0; (size_t)at < kernel->out->size / sizeof *y; at++) {
                y[at] = known[i].answer(at);
            }
        }
    }
}

/* ---- launches -------------------------------------------------------------------- */

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint rank,
                              const size_t *offset, const size_t *global,
                              const size_t *local, cl_uint events, const cl_event *list,
                              cl_event *event)
{
    (void)queue;
    (void)offset;
    (void)events;
    (void)list;
    (void)event;
    size_t items = 1;
    FUZZ_CHECK(kernel->set && !(kernel->set & (kernel->set + 1)),
               "%s: an argument is missing", kernel->name);
    for (cl_uint i = 0; i < rank; i++) {
        if (!local[i] || local[i] > MAX_GROUP || !global[i] || global[i] % local[i]) {
            return CL_INVALID_WORK_GROUP_SIZE;
        }
        items *= local[i];
    }
    if (items > MAX_GROUP) {
        return CL_INVALID_WORK_GROUP_SIZE;
    }
    self_test(kernel);
    return CL_SUCCESS;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
    (void)count;
    (void)events;
    return CL_SUCCESS;
}

cl_int clReleaseEvent(cl_event event)
{
    (void)event;
    return CL_SUCCESS;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t room,
                               void *out, size_t *need)
{
    (void)event;
    (void)what;
    (void)need;
    memset(out, 0, room);
    return CL_SUCCESS;
}
