/* matmul_clblast.c - products by CLBlast; the only file that uses it.
 *
 * This file works around faults of CLBlast 1.5.3: its caches are not thread-safe; its
 * batched product ignores offsets and strides in one of its two paths; with GEMMK = 1
 * and MWG != NWG its results are wrong; it prints build errors on stdout. */
#include "ops/matmul.h"

#ifdef CLA_HAVE_CLBLAST
#include <stdio.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <clblast_c.h>

#include "base/platform.h"
#include "base/platform_thread.h"

enum { PLAIN, BATCHED, ROUTINES };

typedef struct library_state {
    bool used[ROUTINES]; // its programs are built
    bool prepared;       // tuned parameters are set
} library_state;

static const char EXTENSION_KEY;

/* Guards every call: parameters and program cache belong to the whole process. */
static cla_mutex lock = CLA_MUTEX_INIT;

bool cla_clblast_built(void)
{
    return true;
}

/* Clears CLBlast's cache: the programs of a context must be freed before it. */
static void free_state(cla_runtime *rt, void *state)
{
    (void)rt;
    cla_mutex_lock(&lock);
    CLBlastClearCache();
    cla_mutex_unlock(&lock);
    free(state);
}

static cla_status state_of(cla_runtime *rt, library_state **out)
{
    return cla_runtime_state(rt, &EXTENSION_KEY, sizeof **out, free_state, out);
}

/* ---- tuned parameters -------------------------------------------------------- */

enum { PARAMETERS = 16 };

typedef struct parameter_set {
    const char *kernel; // its name in CLBlast
    const char *group;  // and in the tuning file
    const char *names[PARAMETERS];
} parameter_set;

static const parameter_set SETS[] = {
    { "GemmRoutine", "clblast_routine", { "XGEMM_MIN_INDIRECT_SIZE" } },
    { "Xgemm",
      "clblast_gemm",
      { "GEMMK", "KREG", "KWG", "KWI", "MDIMA", "MDIMC", "MWG", "NDIMB", "NDIMC", "NWG",
        "SA", "SB", "STRM", "STRN", "VWM", "VWN" } },
    { "XgemmDirect",
      "clblast_direct",
      { "KWID", "MDIMAD", "MDIMCD", "NDIMBD", "NDIMCD", "PADA", "PADB", "VWMD", "VWND",
        "WGD" } },
};

static size_t value_of(const parameter_set *set, const size_t *values, const char *name)
{
    for (int i = 0; i < PARAMETERS && set->names[i]; i++) {
        if (strcmp(set->names[i], name) == 0) return values[i];
    }
    return 0;
}

/* Sets the tuned parameters of a kernel. CLBlast needs all of them, or none. */
static void apply_set(cla_runtime *rt, const parameter_set *set)
{
    size_t values[PARAMETERS] = { 0 };
    int count = 0, given = 0;
    for (; count < PARAMETERS && set->names[count]; count++) {
        const int value = cla_tuned(rt, set->group, set->names[count], -1);
        given += value >= 0;
        values[count] = value >= 0 ? (size_t)value : 0;
    }
    if (!given) {
        return;
    }
    if (given < count) {
        cla_log(CLA_LOG_WARN, "tuning: %s has %d of %d parameters; not used",
                set->group, given, count);
        return;
    }
    if (value_of(set, values, "GEMMK") == 1 &&
        value_of(set, values, "MWG") != value_of(set, values, "NWG")) {
        cla_log(
            CLA_LOG_WARN,
            "tuning: %s has GEMMK 1 with MWG other than NWG, which CLBlast computes "
            "wrongly; not used",
            set->group);
        return;
    }
    const CLBlastStatusCode code = CLBlastOverrideParameters(
        cla_runtime_device_id(rt), set->kernel, CLBlastPrecisionSingle, (size_t)count,
        (const char **)set->names, values);
    if (code != CLBlastSuccess) {
        cla_log(CLA_LOG_WARN, "tuning: CLBlast refuses %s (%d)", set->group, (int)code);
    }
}

/* ---- calls ------------------------------------------------------------------- */

/* Gives what CLBlast has printed. The first call of a routine builds its programs and
 * prints their errors, which go into a text and not to the program's stdout. */
static void capture_end(cla_os_capture c, char *text, size_t size)
{
    cla_os_capture_end(c, text, size);
    for (char *x = text; *x; x++) { // error texts are one line
        *x = *x == '\n' ? ' ' : *x;
    }
}

static CLBlastTranspose flip(bool transposed)
{
    return transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
}

static int call_plain(cl_command_queue queue, const cla_product *p, int64_t member,
                      cl_event *event)
{
    return (int)CLBlastSgemm(
        CLBlastLayoutRowMajor, flip(p->transpose_a), flip(p->transpose_b), (size_t)p->M,
        (size_t)p->N, (size_t)p->K, 1.0F, p->a.memory->mem,
        (size_t)(p->a.offset + member * p->a.stride), (size_t)p->a.ld, p->b.memory->mem,
        (size_t)(p->b.offset + member * p->b.stride), (size_t)p->b.ld,
        p->add ? 1.0F : 0.0F, p->y.memory->mem,
        (size_t)(p->y.offset + member * p->y.stride), (size_t)p->y.ld, &queue, event);
}

static int call_batched(cl_command_queue queue, const cla_product *p, cl_event *event)
{
    return (int)CLBlastSgemmStridedBatched(
        CLBlastLayoutRowMajor, flip(p->transpose_a), flip(p->transpose_b), (size_t)p->M,
        (size_t)p->N, (size_t)p->K, 1.0F, p->a.memory->mem, 0, (size_t)p->a.ld,
        (size_t)p->a.stride, p->b.memory->mem, 0, (size_t)p->b.ld, (size_t)p->b.stride,
        p->add ? 1.0F : 0.0F, p->y.memory->mem, 0, (size_t)p->y.ld, (size_t)p->y.stride,
        (size_t)p->batch, &queue, event);
}

/* Returns whether matrices follow each other without gaps from the start of the buffer:
 * the batched product takes this for granted. */
static bool is_dense(const cla_matrix *m, int64_t rows, int64_t cols)
{
    return !m->offset && m->ld == cols && m->stride == rows * cols;
}

static bool may_batch(const cla_product *p)
{
    const bool ta = p->transpose_a, tb = p->transpose_b;
    return p->batch > 1 && is_dense(&p->a, ta ? p->K : p->M, ta ? p->M : p->K) &&
           is_dense(&p->b, tb ? p->N : p->K, tb ? p->K : p->N) &&
           is_dense(&p->y, p->M, p->N);
}

/* Makes one call. The profile gets the time of the last kernel that it launches. */
static int call_once(cla_runtime *rt, const cla_product *p, int64_t member)
{
    cl_command_queue queue = cla_runtime_queue(rt);
    cl_event event = NULL;
    cl_event *out = cla_profile_on(rt) ? &event : NULL;
    const bool whole = member < 0; // the batch, in one call
    const int code =
        whole ? call_batched(queue, p, out) : call_plain(queue, p, member, out);
    const int64_t floats =
        (p->M * p->K + p->K * p->N + p->M * p->N) * (whole ? p->batch : 1);
    const cla_status status =
        code ? CLA_OK
             : cla_profile_library(rt, whole ? "clblast_gemm_batched" : "clblast_gemm",
                                   (size_t)floats * 4, event);
    return code ? code : (int)status;
}

static int call(cla_runtime *rt, const cla_product *p, int routine)
{
    if (routine == BATCHED) {
        return call_once(rt, p, -1);
    }
    int code = 0;
    for (int64_t member = 0; member < p->batch && !code; member++) {
        code = call_once(rt, p, member);
    }
    return code;
}

static cla_status run_locked(cla_runtime *rt, const cla_product *p,
                             library_state *state)
{
    const int routine = may_batch(p) ? BATCHED : PLAIN;
    for (size_t i = 0; i < sizeof SETS / sizeof *SETS && !state->prepared; i++) {
        apply_set(rt, &SETS[i]);
    }
    state->prepared = true;
    int code = 0;
    char text[400] = "";
    if (state->used[routine]) {
        code = call(rt, p, routine);
    } else {
        const cla_os_capture c = cla_os_capture_begin();
        code = call(rt, p, routine);
        capture_end(c, text, sizeof text);
        state->used[routine] = code == 0;
    }
    return code ? cla_fail(CLA_E_DEVICE, "matmul: CLBlast on '%s' gives %d %s",
                           cla_runtime_device(rt)->name, code, text)
                : CLA_OK;
}

cla_status cla_clblast_run(cla_runtime *rt, const cla_product *p)
{
    library_state *state = NULL;
    CLA_TRY(state_of(rt, &state));
    CLA_TRY(cla_memory_usual(p->a.memory));
    CLA_TRY(cla_memory_usual(p->b.memory));
    cla_mutex_lock(&lock);
    const cla_status status = run_locked(rt, p, state);
    cla_mutex_unlock(&lock);
    return status ? status : cla_product_finish(rt, p);
}

#else

bool cla_clblast_built(void)
{
    return false;
}

cla_status cla_clblast_run(cla_runtime *rt, const cla_product *p)
{
    (void)rt;
    (void)p;
    return cla_fail(CLA_E_USAGE, "matmul: this build has no CLBlast");
}
#endif
