/* runtime.h - the device for the rooms above: memory, launches, tuned constants.
 *
 * Memory is opaque there. Outside of this room only src/tensor/interop.c and the two
 * files that call vendor libraries include OpenCL headers. */
#pragma once

#include "base/base.h"
#include "clattn/runtime.h"

/* The order of elements in memory that their owner may keep in another one. All that
 * reads or writes such memory has the usual order restored first: launches, through
 * their arguments, and the functions below. Memory with order NULL is used as it is. */
typedef struct cla_order {
    bool other;                         // than the usual one
    void *owner;                        // for restore
    cla_status (*restore)(void *owner); // sets other to false, or fails and changes
                                        // nothing
} cla_order;

/* A piece of device memory: a whole buffer or a part of a block. */
typedef struct cla_memory {
    void *mem; // cl_mem
    size_t bytes;
    bool part;        // of other memory, which already counts its bytes
    cla_order *order; // NULL: always the usual one
    char *lent;       // the application's memory that it is over; NULL: none
} cla_memory;

/* ---- one thread at a time ------------------------------------------------------- */

/* A runtime that this thread holds exclusively until the end of a block. {0}: none. */
typedef struct cla_hold {
    cla_runtime *rt;
} cla_hold;

/* Takes hold of the runtime, unless this thread holds it already.
 * Errors: CLA_E_USAGE (another thread holds it; it crossed a fork). */
cla_status cla_hold_take(cla_hold *hold, cla_runtime *rt, const char *who);
/* Does the same for functions that cannot fail: waits until the other thread's call
 * ends. */
void cla_hold_wait(cla_hold *hold, cla_runtime *rt);
void cla_hold_end(cla_hold *hold);

/* The start of every public function that uses a runtime. The hold ends with the
 * function. */
#define CLA_HOLD(rt)                                                   \
    cla_hold cla_hold_ __attribute__((cleanup(cla_hold_end))) = { 0 }; \
    CLA_TRY(cla_hold_take(&cla_hold_, rt, __func__))
#define CLA_HOLD_WAIT(rt)                                              \
    cla_hold cla_hold_ __attribute__((cleanup(cla_hold_end))) = { 0 }; \
    cla_hold_wait(&cla_hold_, rt)

/* ---- memory ------------------------------------------------------------------- */

/* Allocates a buffer. Errors: CLA_E_NOMEM with need and limit, CLA_E_DEVICE. */
cla_status cla_memory_new(cla_memory *out, cla_runtime *rt, size_t bytes);
/* Resets cla_runtime_peak_bytes to the bytes that are in use now. */
void cla_memory_forget_peak(cla_runtime *rt);
void cla_memory_free(cla_memory *memory, cla_runtime *rt);

/* Wraps and retains a buffer (a cl_mem) of the application. Errors: CLA_E_SHAPE (it is
 * smaller than bytes), CLA_E_DEVICE. */
cla_status cla_memory_wrap(cla_memory *out, cla_runtime *rt, void *buffer,
                           size_t bytes);

/* Makes a buffer over bytes of host memory, which must outlive it. mem is NULL where
 * kernels cannot work on that memory itself: on other devices than CPUs, off the lines
 * of the cache, and where accesses are checked or recorded.
 * Errors: CLA_E_USAGE (a runtime that crossed a fork). */
cla_status cla_memory_borrow(cla_memory *out, cla_runtime *rt, void *host,
                             size_t bytes);

/* Makes a part of whole: its bytes [offset, offset + bytes), with the order of whole.
 * offset must be a multiple of cla_memory_align; whole may be a part. Free the part
 * with cla_memory_free, before whole. */
cla_status cla_memory_part(cla_memory *out, cla_runtime *rt, const cla_memory *whole,
                           size_t offset, size_t bytes);
size_t cla_memory_align(const cla_runtime *rt);

/* Restores the usual order of elements, for those that use mem itself: vendor libraries
 * and applications. Errors: CLA_E_NOMEM, CLA_E_DEVICE; the elements are then as they
 * were. */
static inline cla_status cla_memory_usual(const cla_memory *m)
{
    return m && m->order && m->order->other ? m->order->restore(m->order->owner)
                                            : CLA_OK;
}

/* A stack of pieces of device memory. cla_arena_rewind gives back the pieces that were
 * taken since a mark. */
typedef struct cla_arena cla_arena;
cla_status cla_arena_new(cla_arena **out, cla_runtime *rt);
void cla_arena_free(cla_arena **arena);
cla_status cla_arena_take(cla_arena *arena, cla_memory *out, size_t bytes);
size_t cla_arena_mark(const cla_arena *arena);
void cla_arena_rewind(cla_arena *arena, size_t mark);

/* For tests: fills pieces and buffers made from now on with NaN and puts guard bands
 * around them. The check fails if a guard band was written to. */
void cla_memory_guard(cla_runtime *rt, bool on);
cla_status cla_memory_check_guards(cla_runtime *rt);

/* Queues a copy from the host, whose memory may change at once; waits only if bytes are
 * more than the staging memory takes. Offsets and sizes are in bytes. */
cla_status cla_memory_write(cla_runtime *rt, const cla_memory *to, size_t offset,
                            const void *host, size_t bytes);
/* Copies to the host, and waits for all that was queued before. */
cla_status cla_memory_read(cla_runtime *rt, const cla_memory *from, size_t offset,
                           void *host, size_t bytes);
/* Queues a copy to the host, which cla_memory_arrive gives. Errors: CLA_E_NOMEM,
 * CLA_E_DEVICE. */
typedef struct cla_late cla_late;
cla_status cla_memory_read_later(cla_runtime *rt, const cla_memory *from, size_t offset,
                                 size_t bytes, cla_late **late);
/* Waits for a copy and writes its bytes to host; *late becomes NULL. Does nothing if it
 * is NULL. Errors: CLA_E_DEVICE. */
cla_status cla_memory_arrive(cla_runtime *rt, cla_late **late, void *host);

/* Copies beside the launches, by a queue of their own and host memory of their own.
 * Those of one cla_aside end in the order in which they were queued; none waits for a
 * launch, nor a launch for them: the caller waits for what they need. */
typedef struct cla_aside cla_aside;
/* What was queued, of which a caller waits for the end. NULL: it has ended. */
typedef struct cla_end cla_end;
/* Makes bytes of host memory, zeros. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_aside_new(cla_aside **out, cla_runtime *rt, size_t bytes);
/* Waits for all copies. lent: others may still use the host memory, which stays. */
void cla_aside_free(cla_aside **aside, bool lent);
void *cla_aside_host(cla_aside *aside);
/* Gives the end of all launches so far. any: memory of the device. */
cla_status cla_aside_launches(cla_aside *aside, const cla_memory *any, cla_end **end);
/* Queue a copy of bytes to or from byte `at` of the host memory. *end, the end of an
 * earlier copy or NULL, becomes that of this one. */
cla_status cla_aside_read(cla_aside *aside, size_t at, const cla_memory *from,
                          size_t offset, size_t bytes, cla_end **end);
cla_status cla_aside_write(cla_aside *aside, size_t at, const cla_memory *to,
                           size_t offset, size_t bytes, cla_end **end);
/* Sets *end to NULL if what it stands for has ended, or waits for that.
 * Errors: CLA_E_DEVICE. */
cla_status cla_aside_ended(cla_aside *aside, cla_end **end, bool wait);

/* How often the host waited for the device while profiling was on. */
typedef struct cla_waits {
    int64_t writes;     // of more bytes than the staging memory takes
    int64_t ring;       // for room in the staging memory
    int64_t reads;      // by cla_memory_read
    int64_t late_reads; // in cla_memory_arrive
} cla_waits;
cla_waits cla_runtime_waits(const cla_runtime *rt);
/* Queue a fill and a copy on the device, without waiting. */
cla_status cla_memory_fill(cla_runtime *rt, const cla_memory *memory, uint32_t pattern);
cla_status cla_memory_copy(cla_runtime *rt, const cla_memory *to, size_t to_offset,
                           const cla_memory *from, size_t from_offset, size_t bytes);

/* ---- matrix units --------------------------------------------------------------- */

/* Matrix units, as the define UNIT of cl/unit.clh and, from MMA on, those of cards, of
 * cl/unit_group.clh. */
typedef enum cla_unit {
    CLA_UNIT_NONE,
    CLA_UNIT_AMX,  // Intel's processors
    CLA_UNIT_MMA,  // NVIDIA, from compute capability 8.0 on
    CLA_UNIT_MFMA, // AMD's CDNA
    CLA_UNIT_WMMA, // AMD's RDNA 3
    CLA_UNIT_DPAS, // Intel's Arc
    CLA_UNITS,
} cla_unit;

/* What CLATTN_UNIT asks for. */
typedef enum cla_unit_choice {
    CLA_UNIT_AUTO,    // the best that the device has
    CLA_UNIT_WITHOUT, // "none"
    CLA_UNIT_BY_NAME, // that of cla_unit_offered, or an error at the start
} cla_unit_choice;

/* Return the unit that device and processor offer, and that a runtime may use. It is
 * not tested yet. A runtime that records has the unit that CLATTN_UNIT names. */
cla_unit cla_unit_of(const cla_device *device);
cla_unit cla_unit_offered(const cla_runtime *rt);
/* Returns whether kernels may use the instruction of CONVERTS (cl/unit.clh). */
bool cla_unit_converts(const cla_runtime *rt);
/* Return whether kernels may multiply bytes with the processor's dot products (VNNI),
 * and in the tiles of AMX. Not tested yet. */
bool cla_unit_dots(const cla_runtime *rt);
bool cla_unit_tiles_bytes(const cla_runtime *rt);
cla_unit_choice cla_unit_asked(const cla_runtime *rt);
const char *cla_unit_name(cla_unit unit); // "none", "amx", "mma", ...
/* Returns whether CLATTN_UNIT asks for a card's unit that is only emulated. */
bool cla_unit_is_emulated(const cla_runtime *rt);

/* Returns the word of a precision: "highest", "high", "medium"; and gives the precision
 * of a word. Errors: CLA_E_USAGE (no such word; what: where it stands). */
const char *cla_precision_word(cla_precision precision);
#define CLA_PRECISION_NAMES "highest high medium"
extern const char *const cla_precision_words[]; // the same, up to NULL
/* Runtimes that are made from now on have this precision, whatever CLATTN_PRECISION is.
 * For a program with an option of its own. */
void cla_precision_prefer(cla_precision precision);
cla_status cla_precision_read(const char *what, const char *word, cla_precision *out);

/* Returns a bound on the mean squared error of results, relative to their mean square,
 * where it is `exact` in float32. Under MEDIUM each factor is off by at most 2^-9 of
 * itself, so a sum of products by 2^-16 in the mean of squares; four in a row. */
static inline double cla_precision_limit(const cla_runtime *rt, double exact)
{
    const double rounded = 4.0 / 65536;
    return cla_runtime_precision(rt) == CLA_PRECISION_MEDIUM && rounded > exact
               ? rounded
               : exact;
}

/* ---- launches ----------------------------------------------------------------- */

typedef enum cla_arg_kind {
    CLA_ARG_END,
    CLA_ARG_MEM,
    CLA_ARG_VALUE, // up to 8 bytes, held in place
    CLA_ARG_BYTES, // a struct that the caller keeps until the launch returns
    CLA_ARG_LOCAL, // local memory of size bytes
} cla_arg_kind;

typedef struct cla_arg {
    cla_arg_kind kind;
    size_t size;
    union {
        void *mem;
        int32_t i;
        uint32_t u;
        float f;
        const void *bytes;
    } as;
    size_t moved;     // bytes that the launch reads or writes there, for the profile
    cla_order *order; // of memory
} cla_arg;

static inline cla_arg cla_mem(const cla_memory *m)
{
    return (cla_arg){ CLA_ARG_MEM,
                      sizeof(void *),
                      { .mem = m ? m->mem : NULL },
                      m ? m->bytes : 0,
                      m ? m->order : NULL };
}
/* The same for a kernel that accesses only some bytes of the buffer. */
static inline cla_arg cla_mem_some(const cla_memory *m, size_t bytes)
{
    cla_arg arg = cla_mem(m);
    arg.moved = bytes < arg.moved ? bytes : arg.moved;
    return arg;
}
static inline cla_arg cla_i32(int64_t value)
{
    return (cla_arg){ CLA_ARG_VALUE, 4, { .i = (int32_t)value }, 0, NULL };
}
static inline cla_arg cla_u32(uint32_t value)
{
    return (cla_arg){ CLA_ARG_VALUE, 4, { .u = value }, 0, NULL };
}
static inline cla_arg cla_f32(float value)
{
    return (cla_arg){ CLA_ARG_VALUE, 4, { .f = value }, 0, NULL };
}
static inline cla_arg cla_bytes(const void *bytes, size_t size)
{
    return (cla_arg){ CLA_ARG_BYTES, size, { .bytes = bytes }, 0, NULL };
}
static inline cla_arg cla_local(size_t size)
{
    return (cla_arg){ CLA_ARG_LOCAL, size, { .mem = NULL }, 0, NULL };
}

typedef struct cla_define {
    const char *name;
    int value;
} cla_define;

enum { CLA_LAUNCH_DEFINES = 16, CLA_LAUNCH_ARGS = 32 };

/* One kernel launch. Its size is in groups, not items; groups[0] = 0 launches
 * nothing. */
typedef struct cla_launch {
    const char *file;   // "masked_softmax" for cl/masked_softmax.cl
    const char *kernel; // function name
    const char *text;   // replaces generated.clh; NULL: that file itself
    const char *option; // of the compiler, "-x"; NULL: none
    cla_define define[CLA_LAUNCH_DEFINES];
    size_t groups[3], local[3]; // 0 means 1, except in groups[0]
    cla_arg args[CLA_LAUNCH_ARGS];
    double flops; // work of the whole launch; long ones are split along the groups, so
                  // kernels use GROUP(dim) of the prelude, never get_group_id
} cla_launch;

/* Appends a define to those of a launch. */
static inline void cla_launch_define(cla_launch *launch, const char *name, int value)
{
    cla_define *to = launch->define;
    while (to->name) {
        to++;
    }
    *to = (cla_define){ name, value };
}

/* Queues a kernel, and builds its program at the first use.
 * Errors: CLA_E_DEVICE (with the build log), CLA_E_NOMEM. */
cla_status cla_enqueue(cla_runtime *rt, const cla_launch *launch);

/* Discards the profile so far. */
void cla_profile_clear(cla_runtime *rt);

/* For calls of vendor libraries: cla_profile_on returns whether to request the event (a
 * cl_event) of their last command; cla_profile_library counts the call in the row of
 * this name and takes the event. */
bool cla_profile_on(const cla_runtime *rt);
cla_status cla_profile_library(cla_runtime *rt, const char *name, size_t bytes,
                               void *event);

/* Returns whether launches are recorded and not run (CLATTN_RECORD): results are
 * zeros. */
bool cla_runtime_records(const cla_runtime *rt);

/* Names the work that is recorded from here on, in the folder's grids.jsonl, with the
 * flops and bytes that it needs (0: unknown); NULL: work of no case. Only for a runtime
 * that records. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_record_case(cla_runtime *rt, const char *name, double flops,
                           double bytes);

/* Makes the device begin with the queued commands; does not wait. */
cla_status cla_runtime_flush(cla_runtime *rt);

/* Returns a tuned constant: the value of cla_tuning_set or of the tuning file for this
 * device, else the built-in one of the device's class (class.c), else the fallback.
 * name is the kernel file, key the define; both are in the table of tuning.c, which has
 * the range of each constant. Values outside it are never returned. */
int cla_tuned(cla_runtime *rt, const char *name, const char *key, int fallback);

/* Returns the VEC of tile kernels: 4, 8 or 16, by the native float width. */
int cla_vector_width(const cla_runtime *rt);

/* Set a constant for this runtime; clear it, so that the built-in one applies; and save
 * the constants that are set for this device to the tuning file, whole or not at all.
 * The entries of other devices are kept.
 * Errors: CLA_E_USAGE (an unknown constant, a value outside its range); CLA_E_NOMEM;
 * CLA_E_IO. */
cla_status cla_tuning_set(cla_runtime *rt, const char *name, const char *key,
                          int value);
void cla_tuning_clear(cla_runtime *rt, const char *name, const char *key);
cla_status cla_tuning_save(cla_runtime *rt, const char **path);

/* Checks before any work that cla_tuning_save can write its file. Errors: CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_tuning_writable(const cla_runtime *rt);

/* Hashes the constants that are set (not the built-in ones) to 16 hexadecimal digits,
 * which checkpoints record. Errors: CLA_E_NOMEM. */
cla_status cla_tuning_hash(const cla_runtime *rt, char hash[17]);

/* Returns how many programs this runtime has compiled from source (0 with a warm
 * cache). */
int cla_runtime_builds(const cla_runtime *rt);

/* Makes cla_runtime_free call told(context, n, total) before the n-th, from 1, of the
 * total programs that it writes to the disk cache. Some drivers take a second for
 * each. */
typedef void (*cla_save_told)(void *context, int number, int total);
void cla_runtime_on_save(cla_runtime *rt, cla_save_told told, void *context);

/* Returns whether the driver keeps compiled kernels on disk:
 * cla_device_keeps_kernels. */
bool cla_runtime_keeps_kernels(const cla_runtime *rt);

/* Return native OpenCL objects, for the two files that call vendor libraries (CLBlast,
 * clFFT). */
void *cla_runtime_queue(cla_runtime *rt);     // cl_command_queue
void *cla_runtime_context(cla_runtime *rt);   // cl_context
void *cla_runtime_device_id(cla_runtime *rt); // cl_device_id

/* State that a file keeps with the runtime: made on first use, and freed with the
 * runtime (before queue and context). key is the address of a static variable. */
typedef struct cla_extension {
    void *state;
    void (*fini)(cla_runtime *rt, void *state);
} cla_extension;
cla_status cla_runtime_extension(cla_runtime *rt, const void *key, cla_extension **out);

/* Gives such a state of size bytes, zeros at first: *(T **)out. fini NULL: free.
 * Errors: CLA_E_NOMEM. */
cla_status cla_runtime_state(cla_runtime *rt, const void *key, size_t size,
                             void (*fini)(cla_runtime *rt, void *state), void *out);
