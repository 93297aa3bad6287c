/* internal.h - internals of the runtime, with OpenCL's headers. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <stdatomic.h>

#include <CL/cl.h>

#include "base/processor.h"
#include "base/text.h"
#include "runtime/device.h"
#include "runtime/runtime.h"

enum { GUARD_BYTES = 4096, KERNEL_NAME = 64 };

/* A kernel of a built program, and the group sizes it was launched with. */
typedef struct cla_kernel {
    char name[KERNEL_NAME];
    cl_kernel handle;
    size_t seen[8][3]; // local sizes; a new one means new machine code on some drivers
    int seen_count;
} cla_kernel;

typedef struct cla_program {
    char *key; // "file -DWG=128 ..."
    uint64_t key_hash;
    uint64_t text_hash[2]; // of generated code; 0 without
    char id[33];           // of its cache entry
    cl_program handle;
    cla_kernel *kernels;
    size_t kernel_count, kernel_cap;
    bool built_here; // from source, not from the disk cache
    bool unsaved;    // holds machine code that the disk cache lacks
} cla_program;

/* A guarded allocation (tests), with guard bands before and after the piece. */
typedef struct cla_guarded {
    cl_mem parent, piece;
    size_t bytes;
} cla_guarded;

/* A queued command, and the profile row that its time belongs to. */
typedef struct cla_timed {
    cl_event event;
    size_t row;
} cla_timed;

typedef struct cla_profile {
    bool on;
    cla_profile_row *rows;
    size_t count, cap;
    cla_timed *timed;
    size_t timed_count, timed_cap;
} cla_profile;

typedef struct cla_record cla_record;
typedef struct cla_staging cla_staging;

typedef struct cla_extension_slot {
    const void *key;
    cla_extension extension;
    struct cla_extension_slot *next;
} cla_extension_slot;

/* Devices that share built-in tuning constants; class.c names them in this order. */
typedef enum cla_device_class {
    CLA_CLASS_CPU,
    CLA_CLASS_GPU, // of any other vendor
    CLA_CLASS_AMD,
    CLA_CLASS_INTEL,
    CLA_CLASS_NVIDIA,
} cla_device_class;

/* A constant of the tuning file or of cla_tuning_set. */
typedef struct cla_tuned_value {
    bool set;
    int value;
} cla_tuned_value;

/* Buffers that no one uses, the oldest first (spare.c). */
typedef struct cla_spares {
    cla_memory *list;
    size_t count, cap;
    uint64_t bytes;
} cla_spares;

struct cla_runtime {
    cla_device device;
    cla_device_class class;
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    _Atomic uintptr_t owner; // thread whose call is running (hold.c); 0: none
    int64_t process;         // the process that made it: OpenCL does not survive fork
    cla_schedule own_schedule, schedule;
    cla_precision precision;
    cla_unit_choice unit_choice;
    cla_unit unit_named; // with CLA_UNIT_BY_NAME
    bool unit_emulated;  // it is a card's, which its own instructions do not run
    bool unit_vnni;      // the only unit is VNNI, which CLATTN_UNIT names
    size_t align;        // of sub-buffers, bytes
    double slice_flops;  // longer launches are split
    char processor[CLA_PROCESSOR_TEXT]; // of a CPU: what its machine code may use
    char *cache_folder;                 // NULL: no disk cache
    int cache_fd;                       // of that folder, when there is one
    bool cache_warned;
    char *kernel_path; // CLATTN_KERNEL_PATH or NULL
    cla_program *programs;
    size_t program_count, program_cap;
    uint64_t in_use_bytes, peak_bytes;
    cla_spares spares;
    int large_moves; // fills and copies so far, up to a few (moves.c)
    bool guard;
    bool watched;       // the device checks accesses: cla_device_watches
    bool keeps_kernels; // the driver has its own disk cache: cla_device_keeps_kernels
    bool declares;      // kernels declare the built-in functions: cl/builtins.clh
    cla_guarded *guarded;
    size_t guarded_count, guarded_cap;
    cla_profile profile;
    cla_staging *staging; // NULL: nothing was written yet
    cla_waits waits;
    cla_record *record;      // NULL: kernels run
    cla_tuned_value *tuning; // one for each constant of tuning.c's table
    char *tuning_path;
    cla_extension_slot *extensions;
    int builds;         // programs compiled from source, for the start-up benchmark
    cla_save_told told; // called before each program is saved; may be NULL
    void *told_context;
};

/* source.c: appends the prelude and a file to out, with their includes. generated
 * replaces generated.clh unless it is NULL. */
cla_status cla_source_get(const cla_runtime *rt, const char *file,
                          const char *generated, cla_text *out);

/* precision.c: reads CLATTN_PRECISION and CLATTN_UNIT. Errors: CLA_E_USAGE. */
cla_status cla_precision_init(cla_runtime *rt);

/* memory.c: counts bytes as in use. */
void cla_memory_count(cla_runtime *rt, size_t bytes);

/* spare.c: makes memory of at least bytes, from what is kept if that has at most `most`
 * bytes; keeps memory, or frees it; frees what is kept until it has at most bytes. */
cla_status cla_spare_take(cla_memory *out, cla_runtime *rt, size_t bytes, size_t most);
void cla_spare_give(cla_memory *memory, cla_runtime *rt);
void cla_spares_limit(cla_runtime *rt, uint64_t bytes);
void cla_spares_fini(cla_runtime *rt);

/* program.c */
extern const char *const cla_program_options; // of every build, before the defines
void cla_programs_init(cla_runtime *rt);
cla_status cla_program_get(cla_runtime *rt, const cla_launch *launch,
                           cla_program **out);
cla_status cla_kernel_get(cla_program *program, const char *name, cla_kernel **out);
void cla_programs_fini(cla_runtime *rt);

/* cache.c: binaries on disk. A miss leaves *binary NULL. */
void cla_cache_init(cla_runtime *rt);
void cla_cache_fini(cla_runtime *rt);
void cla_cache_id(const cla_runtime *rt, const char *source, const char *options,
                  char id[33]);
void cla_cache_load(cla_runtime *rt, const char *id, unsigned char **binary,
                    size_t *size);
void cla_cache_store(cla_runtime *rt, const char *id, const void *data, size_t size);
void cla_cache_drop(cla_runtime *rt, const char *id, const char *why);
void cla_cache_save_programs(cla_runtime *rt);

/* profile.c: counts a command that moves this many bytes. Its time is read later. Takes
 * the event (NULL: the command has no time). Does nothing while profiling is off. */
cla_status cla_profile_add(cla_runtime *rt, const char *kernel, size_t bytes,
                           cl_event event);
/* The same; the event has another owner too. */
cla_status cla_profile_shared(cla_runtime *rt, const char *kernel, size_t bytes,
                              cl_event event);
/* Releases the events whose times were not read. */
void cla_profile_fini(cla_runtime *rt);

/* class.c: sets the device's class; returns the built-in constant of the class, or
 * fallback. Errors: CLA_E_USAGE (CLATTN_CLASS). */
cla_status cla_class_init(cla_runtime *rt);
int cla_class_constant(const cla_runtime *rt, const char *name, const char *key,
                       int fallback);

/* tuning.c */
cla_status cla_tuning_init(cla_runtime *rt);

/* selftest.c: compares results of the device with known ones, once for each driver. */
cla_status cla_selftest(cla_runtime *rt);

/* staging.c: host memory that the driver reads or writes; it begins with the head. */
enum { CLA_HOST_LINE = 64 };
typedef struct cla_host_block {
    struct cla_host_block *next; // of those that are kept
} cla_host_block;
/* Returns `bytes` that begin a line of the cache, of which `cleared` are zeros; NULL if
 * there is no memory. cla_os_aligned_free frees them. */
void *cla_host_block_new(size_t bytes, size_t cleared);
/* Keeps a block for good: a driver that failed may still use it. */
void cla_host_block_keep(cla_host_block *block);

/* staging.c: gives whether a transfer of a queue has ended; with `waits` it has, after
 * a wait that is counted there if there was one. Errors: CLA_E_DEVICE (it failed). */
cla_status cla_event_ended(cla_runtime *rt, cl_command_queue queue, cl_event event,
                           int64_t *waits, bool *ended);

/* staging.c: takes host memory for a write of bytes; *at is NULL if they are too many.
 * Then says that the transfer is queued, and takes its event.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE (an earlier write failed). */
cla_status cla_staging_take(cla_runtime *rt, size_t bytes, void **at);
void cla_staging_queued(cla_runtime *rt, size_t bytes, void *event);
/* idle: all transfers have ended. */
void cla_staging_fini(cla_runtime *rt, bool idle);

/* record.c: with CLATTN_RECORD=FOLDER the device poses as a GPU, and launches are
 * recorded, not run. Errors: CLA_E_IO, CLA_E_USAGE (CLATTN_RECORD_AS), CLA_E_NOMEM. */
cla_status cla_record_init(cla_runtime *rt);
cla_status cla_record_launch(cla_runtime *rt, const cla_launch *launch,
                             const size_t groups[3], const size_t local[3],
                             size_t bytes);
void cla_record_fini(cla_runtime *rt);

/* share.c: gives rt a share of another runtime's device, see cla_runtime_share. */
cla_status cla_share_init(cla_runtime *rt, const cla_runtime *of, int share,
                          int shares);

/* Fails with CLA_E_USAGE for a runtime that crossed a fork. */
cla_status cla_runtime_check(const cla_runtime *rt);
