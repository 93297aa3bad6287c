/* runtime.h - devices, and a runtime that works on one of them (tier 0).
 *
 * Thread-safety: a runtime and all that was made from it belong to one thread at a
 * time; separate runtimes are independent. While a call of one thread runs, calls of
 * another that work with the same runtime give CLA_E_USAGE, and those that free or
 * reset wait for its end. A runtime is refused after fork(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clattn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of device, in the order of preference. */
typedef enum cla_device_kind {
    CLA_DEVICE_GPU,        // with memory of its own
    CLA_DEVICE_INTEGRATED, // shares the host's memory
    CLA_DEVICE_CPU,
    CLA_DEVICE_ACCELERATOR,
    CLA_DEVICE_SOFTWARE, // rasterisers and simulators
} cla_device_kind;

typedef struct cla_device {
    int index;            // position in the list
    int platform, member; // P:D, counted as the loader does
    cla_device_kind kind;
    char name[128], vendor[128], platform_name[128];
    char driver[64], version[128];
    char uuid[33];             // 32 hexadecimal digits, or ""
    uint64_t memory_bytes;     // global memory
    uint64_t max_buffer_bytes; // largest single allocation
    uint64_t local_bytes;      // local memory of a group
    int compute_units;         // at least 1
    int clock_mhz;             // 0: unknown
    int vector_width;          // native float lanes, at least 1
    bool fp16, subgroups;
    bool is_default;       // the one a NULL choice gets
    char matrix_unit[8];   // of a GPU: mma, mfma, wmma or dpas; else empty
    uint64_t reserved[15]; // 0: room for later versions
} cla_device;

/* Which form of a kernel runs: a tile for each work-item, or a work-group with local
 * memory. AUTO takes tile on CPU devices, group elsewhere. */
typedef enum cla_schedule {
    CLA_SCHEDULE_AUTO,
    CLA_SCHEDULE_TILE,
    CLA_SCHEDULE_GROUP,
} cla_schedule;

/* How products of matrices are computed, in the words of PyTorch. Inputs, results and
 * sums are float32 in each. */
typedef enum cla_precision {
    CLA_PRECISION_HIGHEST, // float32
    CLA_PRECISION_HIGH,    // three bf16 parts of each number, six products: about as
                           // exact as float32; float32 where there is no matrix unit
    CLA_PRECISION_MEDIUM,  // each number rounded to bf16
} cla_precision;

/* Launches, time and bytes of a kernel. Rows named "(fill)", "(copy)", "(read)" and
 * "(write)" count OpenCL commands that are no kernels. */
typedef struct cla_profile_row {
    char kernel[64];
    int64_t launches;
    double total_ms;
    int64_t bytes; // sizes of the buffer arguments, added over the launches
} cla_profile_row;

typedef struct cla_runtime cla_runtime;

/* All OpenCL devices, best first: discrete GPUs, integrated GPUs, PoCL, Intel CPU,
 * other CPUs, software. Platforms without devices are left out, and so are devices
 * whose name, version, type, memory or compute units cannot be read or are absurd (a
 * warning names them); *count may be 0.
 *
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE (no OpenCL loader answers). */
CLA_API cla_status cla_devices(cla_device **list, int *count);
CLA_API void cla_devices_free(cla_device **list);

/* A runtime on one device.
 *
 * device  in  index, "P:D", cpu|gpu|accelerator, vendor word (amd intel nvidia pocl),
 *             "uuid:...", a whole name, part of "platform/device"; "!x" excludes, a
 *             comma list is an order of preference, a text in quotes is always a
 *             name. NULL takes CLATTN_DEVICE, and without it the first of the list.
 *
 * Errors: CLA_E_USAGE (nothing matches, or two do: the text lists the devices),
 * CLA_E_DEVICE (the driver fails, or its self-test does), CLA_E_NOMEM. */
CLA_API cla_status cla_runtime_new(cla_runtime **rt, const char *device);

/* A runtime on one of several equal shares of another one's device: a CPU with 8 cores
 * has 8 shares of one core. Work that is too small for the whole device runs faster in
 * several shares, each with a thread of its own. Results are those of the whole
 * device.
 *
 * of      in  a runtime on the whole device
 * share   in  which share, 0 to shares - 1
 * shares  in  how many, 1 to the device's compute units (at most 256)
 *
 * The parts of a device stay until the process ends, for later runtimes.
 *
 * Errors: CLA_E_USAGE (no such share, more than 16 divisions of devices), CLA_E_DEVICE
 * (the device cannot be divided, as most GPUs), CLA_E_NOMEM. */
CLA_API cla_status cla_runtime_share(cla_runtime **rt, const cla_runtime *of, int share,
                                     int shares);

/* Waits for the device, frees the runtime and sets *rt to NULL. All its tensors and
 * tapes must have been freed. */
CLA_API void cla_runtime_free(cla_runtime **rt);

/* Waits until the device has finished all work. Errors: CLA_E_DEVICE. */
CLA_API cla_status cla_runtime_finish(cla_runtime *rt);

CLA_API const cla_device *cla_runtime_device(const cla_runtime *rt);

/* The schedule in force, never AUTO. Setting AUTO returns to the device's own, or to
 * CLATTN_SCHEDULE where that is set. */
CLA_API cla_schedule cla_runtime_schedule(const cla_runtime *rt);
CLA_API void cla_runtime_set_schedule(cla_runtime *rt, cla_schedule schedule);

/* The precision of products from now on: of cla_linear, cla_matmul and all operators
 * that are made of them. A new runtime takes CLATTN_PRECISION (highest, high, medium),
 * and HIGHEST without it; a share takes that of its whole. Where a device has a matrix
 * unit that clattn knows, HIGH and MEDIUM use it; elsewhere MEDIUM rounds in the same
 * way, and gives the same bits on CPUs. Infinities may become NaN under HIGH.
 * Errors: CLA_E_USAGE (no such precision). */
CLA_API cla_precision cla_runtime_precision(const cla_runtime *rt);
CLA_API cla_status cla_runtime_set_precision(cla_runtime *rt, cla_precision precision);

/* Largest number of bytes that were in use on the device at one time. */
CLA_API uint64_t cla_runtime_peak_bytes(const cla_runtime *rt);

/* Counts launches and collects device time for each kernel from now on (or stops to).
 * Launches do not wait for it. */
CLA_API void cla_profile_enable(cla_runtime *rt, bool on);

/* The rows so far, longest first; they stay valid until the next launch. NULL when the
 * driver does not tell a time: cla_error() says why. */
CLA_API const cla_profile_row *cla_profile_rows(cla_runtime *rt, int *count);

#ifdef __cplusplus
}
#endif
