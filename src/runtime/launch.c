/* launch.c - launches kernels: defines, arguments, groups. */
#include <math.h>
#include <string.h>

#include "base/foreign.h"
#include "runtime/internal.h"

static cla_status set_args(cl_kernel kernel, const cla_launch *launch)
{
    for (cl_uint i = 0; i < CLA_LAUNCH_ARGS && launch->args[i].kind != CLA_ARG_END;
         i++) {
        const cla_arg *a = &launch->args[i];
        const void *value = &a->as;
        if (a->kind == CLA_ARG_BYTES) {
            value = a->as.bytes;
        } else if (a->kind == CLA_ARG_LOCAL) {
            value = NULL;
        }
        const cl_int code = clSetKernelArg(kernel, i, a->size, value);
        if (code) {
            return cla_cl_fail(code, "%s: argument %u", launch->kernel, i);
        }
    }
    return CLA_OK;
}

/* Restores the usual order of elements in all memory that a launch uses. */
static cla_status restore_orders(const cla_launch *launch)
{
    for (int i = 0; i < CLA_LAUNCH_ARGS && launch->args[i].kind != CLA_ARG_END; i++) {
        const cla_order *order = launch->args[i].order;
        CLA_TRY(order && order->other ? order->restore(order->owner) : CLA_OK);
    }
    return CLA_OK;
}

/* Fails if a launch needs too much local memory: some drivers abort then. */
static cla_status check_local_memory(const cla_runtime *rt, const cla_launch *launch)
{
    size_t bytes = 0;
    for (int i = 0; i < CLA_LAUNCH_ARGS && launch->args[i].kind != CLA_ARG_END; i++) {
        bytes += launch->args[i].kind == CLA_ARG_LOCAL ? launch->args[i].size : 0;
    }
    if (bytes > rt->device.local_bytes) {
        return cla_fail(CLA_E_DEVICE, "%s: %zu bytes of local memory, '%s' has %llu",
                        launch->kernel, bytes, rt->device.name,
                        (unsigned long long)rt->device.local_bytes);
    }
    return CLA_OK;
}

/* Marks a program as unsaved at the first launch with a group size: some drivers (PoCL)
 * generate machine code only then. */
static void note_local_size(cla_program *program, cla_kernel *kernel,
                            const size_t local[3])
{
    for (int i = 0; i < kernel->seen_count; i++) {
        if (memcmp(kernel->seen[i], local, 3 * sizeof *local) == 0) {
            return;
        }
    }
    const int room = (int)(sizeof kernel->seen / sizeof *kernel->seen);
    if (kernel->seen_count < room) {
        memcpy(kernel->seen[kernel->seen_count++], local, 3 * sizeof *local);
        program->unsaved = program->unsaved || program->built_here;
    }
}

/* Returns the bytes that a launch moves at least: each of its buffers once. */
static size_t moved_bytes(const cla_launch *launch)
{
    size_t bytes = 0;
    for (int i = 0; i < CLA_LAUNCH_ARGS && launch->args[i].kind != CLA_ARG_END; i++) {
        bytes += launch->args[i].moved;
    }
    return bytes;
}

/* Queues a part of a launch. moved: bytes, for the profile. */
static cla_status enqueue_piece(cla_runtime *rt, const cla_kernel *kernel, size_t moved,
                                const size_t first[3], const size_t groups[3],
                                const size_t local[3])
{
    size_t offset[3], global[3];
    for (int i = 0; i < 3; i++) {
        offset[i] = first[i] *local[i];
        global[i] = groups[i] *local[i];
    }
    const bool whole = !(first[0] | first[1] | first[2]);
    cl_event event = NULL;
    cla_foreign_enter("clEnqueueNDRangeKernel"); // until a call waits for the work
    const cl_int code =
        clEnqueueNDRangeKernel(rt->queue, kernel->handle, 3, whole ? NULL : offset,
                               global, local, 0, NULL, rt->profile.on ? &event : NULL);
    if (code) {
        return cla_cl_fail(code, "launch of %s, %zux%zux%zu groups of %zux%zux%zu",
                           kernel->name, groups[0], groups[1], groups[2], local[0],
                           local[1], local[2]);
    }
    return cla_profile_add(rt, kernel->name, moved, event);
}

/* Queues a launch. Long work is split into pieces along its widest axis, since displays
 * have watchdogs. */
static cla_status enqueue_split(cla_runtime *rt, const cla_kernel *kernel,
                                const cla_launch *launch, const size_t groups[3],
                                const size_t local[3])
{
    const size_t moved = moved_bytes(launch);
    int axis = 0;
    for (int i = 1; i < 3; i++) {
        axis = groups[i] > groups[axis] ? i : axis;
    }
    const size_t most = groups[axis]; // limit of pieces
    const size_t pieces =
        (size_t)fmin(launch->flops / rt->slice_flops, (double)most - 1) + 1;
    const size_t step = (groups[axis] + pieces - 1) / pieces;
    for (size_t at = 0; at < groups[axis]; at += step) {
        size_t first[3] = { 0, 0, 0 }, part[3] = { groups[0], groups[1], groups[2] };
        first[axis] = at;
        part[axis] = groups[axis] - at < step ? groups[axis] - at : step;
        CLA_TRY(enqueue_piece(rt, kernel, at ? 0 : moved, first, part, local));
    }
    return CLA_OK;
}

int cla_vector_width(const cla_runtime *rt)
{
    const int width = rt->device.vector_width;
    return width >= 16 ? 16 : width >= 8 ? 8 : 4;
}

cla_status cla_enqueue(cla_runtime *rt, const cla_launch *launch)
{
    CLA_TRY(cla_runtime_check(rt));
    size_t groups[3], local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = launch->local[i] ? launch->local[i] : 1;
        groups[i] = i == 0 || launch->groups[i] ? launch->groups[i] : 1;
        if (!groups[i]) {
            return CLA_OK;
        }
    }
    CLA_TRY(check_local_memory(rt, launch));
    CLA_TRY(restore_orders(launch));
    if (rt->record) {
        const size_t moved = moved_bytes(launch);
        CLA_TRY(cla_profile_add(rt, launch->kernel, moved, NULL));
        return cla_record_launch(rt, launch, groups, local, moved);
    }
    cla_program *program = NULL;
    cla_kernel *kernel = NULL;
    CLA_TRY(cla_program_get(rt, launch, &program));
    CLA_TRY(cla_kernel_get(program, launch->kernel, &kernel));
    CLA_TRY(set_args(kernel->handle, launch));
    note_local_size(program, kernel, local);
    return enqueue_split(rt, kernel, launch, groups, local);
}
