/* opencl.h - for applications that use OpenCL themselves: runtimes on their queues,
 * tensors over their buffers. clattn/clattn.h does not include it. */
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#if defined(__has_include)
#if __has_include(<OpenCL/cl.h>)
#include <OpenCL/cl.h> // the framework of macOS
#else
#include <CL/cl.h>
#endif
#else
#include <CL/cl.h>
#endif

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A runtime on the application's context and in-order queue. Both are retained, and
 * released by cla_runtime_free.
 *
 * Errors: CLA_E_USAGE (the queue is out of order, or of another context), CLA_E_DEVICE,
 * CLA_E_NOMEM. */
CLA_API cla_status cla_runtime_wrap(cla_runtime **rt, cl_context context,
                                    cl_command_queue queue);

/* A tensor over the application's buffer (from its start), which is retained. The
 * buffer must hold the whole tensor.
 *
 * Errors: CLA_E_SHAPE (too small, with both sizes), CLA_E_DEVICE, CLA_E_NOMEM. */
CLA_API cla_status cla_tensor_wrap(cla_tensor **out, cla_runtime *rt, cl_mem buffer,
                                   cla_dtype dtype, int rank, const int64_t *shape);

/* The buffer behind a tensor, not retained. A tape's tensors lose it at the reset. NULL
 * (see cla_error) if the device has no memory to bring the elements into their usual
 * order, which inference on CPUs may have changed. */
CLA_API cl_mem cla_tensor_buffer(const cla_tensor *t);

CLA_API cl_command_queue cla_runtime_cl_queue(const cla_runtime *rt);

#ifdef __cplusplus
}
#endif
