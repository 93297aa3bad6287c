/* opencl.c - what the null device of the fuzz targets leaves to the system's OpenCL,
 * for systems that have none. Nothing of it is offered: devices are whole, and memory
 * is not mapped. */
#define CL_TARGET_OPENCL_VERSION 120

#include <CL/cl.h>

cl_int clCreateSubDevices(cl_device_id device, const cl_device_partition_property *how,
                          cl_uint room, cl_device_id *devices, cl_uint *count)
{
    (void)device, (void)how, (void)room, (void)devices, (void)count;
    return CL_DEVICE_PARTITION_FAILED;
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocks,
                         cl_map_flags flags, size_t at, size_t bytes, cl_uint waits,
                         const cl_event *wait, cl_event *event, cl_int *code)
{
    (void)queue, (void)memory, (void)blocks, (void)flags, (void)at, (void)bytes;
    (void)waits, (void)wait, (void)event;
    *code = CL_MAP_FAILURE;
    return NULL;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped,
                               cl_uint waits, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)memory, (void)mapped, (void)waits, (void)wait, (void)event;
    return CL_INVALID_MEM_OBJECT;
}

cl_int clRetainEvent(cl_event event)
{
    (void)event;
    return CL_INVALID_EVENT;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t room, void *out,
                      size_t *need)
{
    (void)event, (void)what, (void)room, (void)out, (void)need;
    return CL_INVALID_EVENT;
}
