/* null_device.h - the objects of the null device. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

enum { MAX_GROUP = 4096, NAME_SIZE = 64 };

struct _cl_platform_id {
    int unused;
};
struct _cl_device_id {
    int unused;
};
struct _cl_context {
    int references;
};
struct _cl_command_queue {
    int references;
    cl_context context;
};
struct _cl_mem {
    int references;
    unsigned char *bytes;
    size_t size;
    cl_mem parent; // of a sub-buffer
};
struct _cl_program {
    int unused;
};
struct _cl_kernel {
    char name[NAME_SIZE];
    unsigned set; // a bit for each argument that has a value
    cl_mem out;   // the first argument
};
