/* inject.h - which call fails: shared by the wrappers of allocation, file and OpenCL
 * calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum fault_class {
    FAULT_ALLOC, // memory: NULL
    FAULT_FILE,  // files and streams: an error in errno
    FAULT_SHORT, // read and write: fewer bytes than asked for
    FAULT_CL,    // OpenCL: an error code
    FAULT_ZERO,  // clGetDeviceInfo: succeeds with a value of zero bytes
    FAULT_NAN,   // clEnqueueReadBuffer: succeeds, the first number read is NaN
    FAULT_POLL,  // clGetEventInfo: an error; how often it is called depends on time
    FAULT_CLASSES
} fault_class;

/* Begins a wrapper: declares the real function and the wrapper itself. */
#define WRAP(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

/* Counts a call of a function. Returns whether this call has to fail; *code is the
 * error that CLATTN_FAULT asks for, and unchanged when it names none. */
bool fault_here(fault_class class, const char *function, int *code);

/* Resources that the program's own objects hold, counted up and down. */
typedef enum fault_resource {
    FAULT_DESCRIPTOR,
    FAULT_STREAM,
    FAULT_CL_OBJECT,
    FAULT_RESOURCES
} fault_resource;
void fault_hold(fault_resource resource, int difference);

/* Blocks that are not freed yet, and the numbers of the calls that made the first of
 * them. */
size_t fault_live_blocks(long *calls, size_t room);

/* The number of the latest call of a class, counted from 1. */
long fault_count(fault_class class);
