/* moves.c - fills and copies of device memory. */
#include <limits.h>

#include "runtime/internal.h"

/* Returns whether to do this fill or copy with a kernel. PoCL does its own in one
 * thread: 8 MB take 1 ms, as long as a tenth of attention with its backward pass.
 * Building the program is worth it for moves that come again, so the first ones, of new
 * parameters, are the driver's. */
static bool in_parallel(cla_runtime *rt, size_t bytes)
{
    enum { LARGE = 1 << 20, FIRST = 8 };
    if (rt->schedule != CLA_SCHEDULE_TILE || rt->device.compute_units < 2 ||
        bytes < LARGE || bytes / 4 > INT_MAX / 2) {
        return false;
    }
    rt->large_moves += rt->large_moves < FIRST;
    return rt->large_moves == FIRST;
}

/* Plans such a launch: count words, run of them for each item. */
static void plan(cla_runtime *rt, size_t bytes, int32_t *count, int32_t *run,
                 cla_launch *launch)
{
    enum { GROUPS = 4 }; // of each unit
    const int32_t most = (int32_t)rt->device.compute_units * GROUPS;
    *count = (int32_t)(bytes / 4);
    *run = ((*count + most - 1) / most + 15) / 16 * 16;
    launch->file = "memory_tile";
    launch->define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
    launch->groups[0] = (size_t)((*count + *run - 1) / *run);
}

static cla_status fill_in_parallel(cla_runtime *rt, const cla_memory *memory,
                                   uint32_t pattern)
{
    int32_t count = 0, run = 0;
    cla_launch launch = { .kernel = "memory_fill" };
    plan(rt, memory->bytes, &count, &run, &launch);
    launch.args[0] = cla_mem(memory);
    launch.args[1] = cla_i32(count);
    launch.args[2] = cla_i32(run);
    launch.args[3] = cla_bytes(&pattern, sizeof pattern);
    return cla_enqueue(rt, &launch);
}

static cla_status copy_in_parallel(cla_runtime *rt, const cla_memory *to,
                                   size_t to_offset, const cla_memory *from,
                                   size_t from_offset, size_t bytes)
{
    int32_t count = 0, run = 0;
    cla_launch launch = { .kernel = "memory_copy" };
    plan(rt, bytes, &count, &run, &launch);
    launch.args[0] = cla_mem(to);
    launch.args[1] = cla_mem(from);
    launch.args[2] = cla_i32((int32_t)(to_offset / 4));
    launch.args[3] = cla_i32((int32_t)(from_offset / 4));
    launch.args[4] = cla_i32(count);
    launch.args[5] = cla_i32(run);
    return cla_enqueue(rt, &launch);
}

static cla_status fill_by_writing(cla_runtime *rt, const cla_memory *memory,
                                  uint32_t pattern)
{
    const size_t words = memory->bytes / 4;
    uint32_t *host = NULL;
    CLA_TRY(cla_alloc(&host, words, sizeof *host));
    for (size_t i = 0; i < words; i++) {
        host[i] = pattern;
    }
    const cla_status status = cla_memory_write(rt, memory, 0, host, words * 4);
    free(host);
    return status;
}

cla_status cla_memory_fill(cla_runtime *rt, const cla_memory *memory, uint32_t pattern)
{
    CLA_TRY(cla_memory_usual(memory));
    if (!memory->bytes || rt->record) {
        return memory->bytes ? cla_profile_add(rt, "(fill)", memory->bytes, NULL)
                             : CLA_OK;
    }
    CLA_TRY(cla_runtime_check(rt));
    if (rt->watched) return fill_by_writing(rt, memory, pattern);
    if (in_parallel(rt, memory->bytes)) return fill_in_parallel(rt, memory, pattern);

    cl_event event = NULL;
    const cl_int code = clEnqueueFillBuffer(rt->queue, memory->mem, &pattern,
                                            sizeof pattern, 0, memory->bytes / 4 * 4, 0,
                                            NULL, rt->profile.on ? &event : NULL);
    return code ? cla_cl_fail(code, "filling %zu bytes", memory->bytes)
                : cla_profile_add(rt, "(fill)", memory->bytes, event);
}

cla_status cla_memory_copy(cla_runtime *rt, const cla_memory *to, size_t to_offset,
                           const cla_memory *from, size_t from_offset, size_t bytes)
{
    CLA_TRY(cla_memory_usual(to));
    CLA_TRY(cla_memory_usual(from));
    if (!bytes || rt->record) {
        return bytes ? cla_profile_add(rt, "(copy)", 2 * bytes, NULL) : CLA_OK;
    }
    CLA_TRY(cla_runtime_check(rt));
    const bool words = (bytes | to_offset | from_offset) % 4 == 0;
    if (words && to->mem != from->mem && in_parallel(rt, bytes)) {
        return copy_in_parallel(rt, to, to_offset, from, from_offset, bytes);
    }
    cl_event event = NULL;
    const cl_int code =
        clEnqueueCopyBuffer(rt->queue, from->mem, to->mem, from_offset, to_offset,
                            bytes, 0, NULL, rt->profile.on ? &event : NULL);
    return code ? cla_cl_fail(code, "copying %zu bytes", bytes)
                : cla_profile_add(rt, "(copy)", 2 * bytes, event);
}
