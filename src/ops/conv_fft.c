/* conv_fft.c - transforms of padded maps; the only file that uses clFFT. */
#include "ops/conv_fft.h"

#ifdef CLA_HAVE_CLFFT
#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <clFFT.h>

#include "base/platform_thread.h"

enum {
    LEAST_SIDE = 16,
    LARGEST_SIDE = 4096, // clFFT 2.12: at most 2^24 numbers in a real transform
    LINE = 32,           // rows are padded to a multiple, to begin on vectors
};

static const char EXTENSION_KEY;

/* Guards setup and teardown, which affect the whole process. */
static cla_mutex lock = CLA_MUTEX_INIT;
static int users;

/* The plans of a runtime. */
typedef struct plan_list {
    cla_fft **fft;
    size_t count, cap;
} plan_list;

bool cla_fft_built(void)
{
    return true;
}

int32_t cla_fft_side(int64_t least)
{
    static const int eighths[] = { 8, 9, 10, 12, 14 };
    for (int32_t power = LEAST_SIDE; power <= LARGEST_SIDE; power *= 2) {
        for (int i = 0; i < (int)(sizeof eighths / sizeof *eighths); i++) {
            const int32_t side = power / 8 * eighths[i];
            if (side >= least && side <= LARGEST_SIDE) {
                return side;
            }
        }
    }
    return 0;
}

static cla_status fail(clfftStatus code, const char *what, const cla_fft *fft)
{
    const cla_status status =
        code == CLFFT_OUT_OF_HOST_MEMORY || code == CLFFT_MEM_OBJECT_ALLOCATION_FAILURE
            ? CLA_E_NOMEM
            : CLA_E_DEVICE;
    return cla_fail(status, "clFFT: %s of %d maps of %dx%d fails with code %d", what,
                    fft->batch, fft->side, fft->side, (int)code);
}

/* ---- life of the library -------------------------------------------------------- */

static cla_status library_enter(void)
{
    // clfftInitSetupData is inline without a definition: not every build can link it
    const clfftSetupData setup = { clfftVersionMajor, clfftVersionMinor,
                                   clfftVersionPatch, 0 };
    clfftStatus code = CLFFT_SUCCESS;
    cla_mutex_lock(&lock);
    if (users == 0) {
        code = clfftSetup(&setup);
    }
    users += code == CLFFT_SUCCESS;
    cla_mutex_unlock(&lock);
    return code ? cla_fail(CLA_E_DEVICE, "clFFT: setup fails with code %d", (int)code)
                : CLA_OK;
}

/* Frees the plans, and with the last runtime the library. Plans must go before the
 * library, and the library before queue and context: otherwise it crashes at exit with
 * some drivers. */
static void free_plans(cla_runtime *rt, void *state)
{
    plan_list *list = state;
    (void)rt;
    for (size_t i = 0; i < list->count; i++) {
        for (int k = 0; k < 2; k++) {
            clfftPlanHandle plan = list->fft[i]->plan[k];
            if (plan) {
                clfftDestroyPlan(&plan);
            }
        }
        free(list->fft[i]);
    }
    free(list->fft);
    free(list);
    cla_mutex_lock(&lock);
    users--;
    if (users == 0) {
        clfftTeardown();
    }
    cla_mutex_unlock(&lock);
}

static cla_status list_of(cla_runtime *rt, plan_list **out)
{
    cla_extension *extension = NULL;
    CLA_TRY(cla_runtime_extension(rt, &EXTENSION_KEY, &extension));
    if (!extension->state) {
        CLA_TRY(cla_alloc(&extension->state, 1, sizeof **out));
        const cla_status status = library_enter();
        if (status) {
            free(extension->state);
            extension->state = NULL;
            return status;
        }
        extension->fini = free_plans;
    }
    *out = extension->state;
    return CLA_OK;
}

/* ---- plans ----------------------------------------------------------------------- */

/* Sets every property of a plan, since the library may change its defaults. */
static clfftStatus describe(clfftPlanHandle plan, const cla_fft *fft, bool inverse)
{
    size_t real[2] = { 1, (size_t)fft->line };
    size_t complex[2] = { 1, (size_t)fft->side / 2 + 1 };
    const size_t maps = (size_t)fft->line * (size_t)fft->side;
    const size_t spectra = (size_t)fft->cells;
    clfftStatus code = clfftSetPlanPrecision(plan, CLFFT_SINGLE);
    code = code ? code : clfftSetResultLocation(plan, CLFFT_OUTOFPLACE);
    code =
        code ? code
             : clfftSetLayout(plan, inverse ? CLFFT_HERMITIAN_INTERLEAVED : CLFFT_REAL,
                              inverse ? CLFFT_REAL : CLFFT_HERMITIAN_INTERLEAVED);
    code = code ? code : clfftSetPlanInStride(plan, CLFFT_2D, inverse ? complex : real);
    code =
        code ? code : clfftSetPlanOutStride(plan, CLFFT_2D, inverse ? real : complex);
    code = code ? code : clfftSetPlanBatchSize(plan, (size_t)fft->batch);
    code = code ? code
                : clfftSetPlanDistance(plan, inverse ? spectra : maps,
                                       inverse ? maps : spectra);
    const float scale = 1.0F / ((float)fft->side * (float)fft->side);
    code = code ? code : clfftSetPlanScale(plan, CLFFT_FORWARD, 1.0F);
    return code ? code : clfftSetPlanScale(plan, CLFFT_BACKWARD, scale);
}

static cla_status build(cla_fft *fft, cla_runtime *rt)
{
    cl_command_queue queue = cla_runtime_queue(rt);
    const size_t lengths[2] = { (size_t)fft->side, (size_t)fft->side };
    for (int inverse = 0; inverse < 2; inverse++) {
        clfftPlanHandle plan = 0;
        clfftStatus code =
            clfftCreateDefaultPlan(&plan, cla_runtime_context(rt), CLFFT_2D, lengths);
        if (code) {
            return fail(code, "planning", fft);
        }
        fft->plan[inverse] = plan;
        code = describe(plan, fft, inverse);
        code = code ? code : clfftBakePlan(plan, 1, &queue, NULL, NULL);
        size_t bytes = 0;
        code = code ? code : clfftGetTmpBufSize(plan, &bytes);
        if (code) {
            return fail(code, "planning", fft);
        }
        fft->scratch_bytes = bytes > fft->scratch_bytes ? bytes : fft->scratch_bytes;
    }
    return CLA_OK;
}

cla_status cla_fft_get(cla_fft **out, cla_runtime *rt, int32_t side, int32_t batch)
{
    plan_list *list = NULL;
    *out = NULL;
    CLA_TRY(list_of(rt, &list));
    for (size_t i = 0; i < list->count; i++) {
        if (list->fft[i]->side == side && list->fft[i]->batch == batch) {
            *out = list->fft[i];
            return CLA_OK;
        }
    }
    CLA_TRY(cla_grow(&list->fft, &list->cap, list->count + 1, sizeof(cla_fft *)));
    cla_fft *fft = NULL;
    CLA_TRY(cla_alloc(&fft, 1, sizeof *fft));
    list->fft[list->count++] = fft;
    fft->side = side;
    fft->batch = batch;
    fft->line = (side + LINE - 1) / LINE * LINE;
    fft->cells = side * (side / 2 + 1);
    *out = fft; // a plan that cannot be built stays in the list as broken
    const cla_status status = build(fft, rt);
    fft->state = status ? CLA_FFT_BROKEN : CLA_FFT_NEW;
    return status;
}

cla_status cla_fft_run(cla_runtime *rt, const cla_fft *fft, bool inverse,
                       const cla_memory *to, const cla_memory *from,
                       const cla_memory *scratch)
{
    CLA_TRY(cla_memory_usual(from));
    CLA_TRY(cla_memory_usual(to));
    cl_command_queue queue = cla_runtime_queue(rt);
    cl_mem in = from->mem, out = to->mem;
    cl_event event = NULL;
    const clfftStatus code = clfftEnqueueTransform(
        fft->plan[inverse], inverse ? CLFFT_BACKWARD : CLFFT_FORWARD, 1, &queue, 0,
        NULL, cla_profile_on(rt) ? &event : NULL, &in, &out,
        fft->scratch_bytes ? scratch->mem : NULL);
    return code ? fail(code, inverse ? "inverse transform" : "transform", fft)
                : cla_profile_library(rt, "clfft", to->bytes + from->bytes, event);
}

#else

bool cla_fft_built(void)
{
    return false;
}

int32_t cla_fft_side(int64_t least)
{
    (void)least;
    return 0;
}

cla_status cla_fft_get(cla_fft **out, cla_runtime *rt, int32_t side, int32_t batch)
{
    (void)rt;
    *out = NULL;
    return cla_fail(CLA_E_USAGE, "clFFT: %d maps of %dx%d: this build has no clFFT",
                    batch, side, side);
}

cla_status cla_fft_run(cla_runtime *rt, const cla_fft *fft, bool inverse,
                       const cla_memory *to, const cla_memory *from,
                       const cla_memory *scratch)
{
    (void)rt;
    (void)inverse;
    (void)to;
    (void)from;
    (void)scratch;
    return cla_fail(CLA_E_USAGE, "clFFT: %d maps: this build has no clFFT", fft->batch);
}

#endif
