/* device.h - finds, ranks and chooses the devices of this machine. */
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include "base/base.h"
#include "clattn/runtime.h"

/* The OpenCL handles of a listed device. */
typedef struct cla_device_handle {
    cl_platform_id platform;
    cl_device_id device;
} cla_device_handle;

/* Lists the devices as cla_devices does, with the handles of each. The caller frees
 * both with free. */
cla_status cla_devices_open(cla_device **list, cla_device_handle **handles, int *count);

/* Finds the position in list of the device that text selects (grammar: see
 * cla_runtime_new); NULL and "" select the first.
 * Errors: CLA_E_USAGE (nothing matches, or two do), CLA_E_DEVICE (an empty list: the
 * text says why, see cla_driver_absent), CLA_E_NOMEM. */
cla_status cla_device_choose(const cla_device *list, int count, const char *text,
                             int *index);

/* Warns of each name after "!" that matches no device: it may be misspelt. */
void cla_device_warn(const cla_device *list, int count, const char *text);

/* A word of the list in CLATTN_DEVICE. */
typedef struct cla_wish {
    char *word;   // NULL ends an array of them
    bool exclude; // "!word"
    bool quoted;  // it is a name, whatever it looks like
} cla_wish;

/* Splits text at its commas, but not at those inside quotes, brackets, or the name of a
 * device that stands there as messages and `clattn devices` print it.
 * Errors: CLA_E_USAGE ("!" without a word, an open quote), CLA_E_NOMEM. */
cla_status cla_wishes_read(cla_wish **wishes, const char *text, const cla_device *list,
                           int count);
void cla_wishes_free(cla_wish **wishes);

/* Returns whether text begins with a whole name of the device, up to its end or a
 * comma; sets *size to the length of the longest such name. */
bool cla_device_named(const cla_device *d, const char *text, size_t *size);

/* Returns the kind of a device. Names count beside the type bits, since drivers set
 * several bits and software rasterisers report a CPU. unified: host and device share
 * memory. */
cla_device_kind cla_device_classify(cl_device_type type, bool unified,
                                    const char *platform_name, const char *name);

/* Returns whether the device checks every memory access itself (Oclgrind). It loses
 * track of initialised memory in sub-buffers, after fills, and when the address of a
 * released buffer is used again. So arenas take whole buffers there, fills are writes,
 * and no buffer is released before the process ends. Guard bands and NaNs would hide
 * the errors that it finds. */
bool cla_device_watches(const cla_device *device);

enum { CLA_DEVICE_FAULT = 96 }; // bytes of its text

/* Reads the properties of a device into d, whose platform_name must be set. fault
 * receives the reason why the device is useless, such as "its memory size is 0", or "".
 * Errors: CLA_E_NOMEM. */
cla_status cla_device_read(cl_device_id id, cla_device *d, char *fault);

/* Copies text, cut to size, without the blanks that some drivers put around it. */
void cla_device_trim(char *out, size_t size, const char *text);

/* Returns the alignment of sub-buffers in bytes: that of the device, at least 128; 512,
 * enough for known devices, when the device reports none or more than 1 MiB. */
size_t cla_device_align(cl_device_id id);

/* Returns whether the driver is PoCL. */
bool cla_device_is_pocl(const cla_device *device);

/* Returns whether the driver itself keeps the machine code of kernels on disk, so that
 * saving its binaries gains little. PoCL does unless POCL_KERNEL_CACHE is 0. Before it
 * hands out a binary, it compiles every kernel of the program again, for any group
 * size, which more than doubles the time of a first run. CLATTN_CACHE_BINARIES=1 makes
 * this false: binaries are saved nevertheless. */
bool cla_device_keeps_kernels(const cla_device *device);

/* Compares by the order of the list: returns a negative number when a comes first. */
int cla_device_compare(const cla_device *a, const cla_device *b);

/* Returns the name of a code, such as "CL_OUT_OF_RESOURCES". */
const char *cla_cl_name(cl_int code);

/* Fails with the message and ": CL_NAME". Memory errors give CLA_E_NOMEM, others
 * CLA_E_DEVICE. */
cla_status cla_cl_fail(cl_int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
