/* device.h - the devices of this machine: found, ranked, and chosen by a text. */
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include "base/base.h"
#include "clattn/runtime.h"

/* OpenCL's own names of a listed device. */
typedef struct cla_device_handle {
    cl_platform_id platform;
    cl_device_id device;
} cla_device_handle;

/* As cla_devices, with the handle of each entry. The caller frees both with free. */
cla_status cla_devices_open(cla_device **list, cla_device_handle **handles, int *count);

/* The position in list that text (grammar: see cla_runtime_new) means; NULL and "" mean
 * the first.
 * Errors: CLA_E_USAGE (nothing matches, or two do), CLA_E_DEVICE (an empty list and no
 * text), CLA_E_NOMEM. */
cla_status cla_device_choose(const cla_device *list, int count, const char *text,
                             int *index);

/* What a device is, from its type bits and names: drivers set several bits, and
 * software rasterisers say CPU. unified: host and device share memory. */
cla_device_kind cla_device_classify(cl_device_type type, bool unified,
                                    const char *platform_name, const char *name);

/* Whether the device checks every access itself (Oclgrind). It loses track of what is
 * initialised in sub-buffers, after fills, and when a released buffer's address is used
 * again: memory there is whole buffers, filled by writing and kept until the process
 * ends. Guard bands and NaNs would hide what it looks for. */
bool cla_device_watches(const cla_device *device);

enum { CLA_DEVICE_FAULT = 96 }; // bytes of a text

/* Reads the properties of a device into d, whose platform's name is known already.
 * fault receives what makes the device useless, as "its memory size is 0", or "".
 * Errors: CLA_E_NOMEM. */
cla_status cla_device_read(cl_device_id id, cla_device *d, char *fault);

/* Copies what fits, without the blanks that some drivers put in front and behind. */
void cla_device_trim(char *out, size_t size, const char *text);

/* The alignment of sub-buffers in bytes: the device's, at least 128; 512, enough for
 * known devices, when the device reports none or more than 1 MiB. */
size_t cla_device_align(cl_device_id id);

/* Whether the driver is PoCL. */
bool cla_device_is_pocl(const cla_device *device);

/* Whether the driver keeps the machine code of kernels on disk itself, so that saving
 * its binaries gains little. PoCL does unless POCL_KERNEL_CACHE is 0, and it compiles
 * every kernel of a program once more, for any group size, before it hands out a
 * binary: asking for one more than doubles the time of a first run.
 * CLATTN_CACHE_BINARIES=1 makes it false: binaries are saved nevertheless. */
bool cla_device_keeps_kernels(const cla_device *device);

/* Order of the list: negative when a comes first. */
int cla_device_compare(const cla_device *a, const cla_device *b);

/* "CL_OUT_OF_RESOURCES" for a code. */
const char *cla_cl_name(cl_int code);

/* Fails with "what: CL_NAME"; memory errors give CLA_E_NOMEM, others CLA_E_DEVICE. */
cla_status cla_cl_fail(cl_int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
