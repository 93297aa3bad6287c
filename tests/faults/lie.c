/* lie.c - devices and drivers that lie: each property fails or is absurd, each OpenCL
 * entry point returns errors.
 *
 * The linker puts the functions of lie_calls.c in front of OpenCL's. The tests assert:
 * a device with a false property that results depend on is refused by name, and every
 * other lie changes nothing; a call that fails gives an error text and no result, or
 * the same result; and the next run is as usual. */
#include "faults/lie.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "clattn/opencl.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { TOKENS = 24, INPUTS = 8, WIDTH = 16, Y = TOKENS * WIDTH };
enum { W = (INPUTS + WIDTH) * 4 * WIDTH };

/* The results of a run: states of an LSTM and the gradient of its weights. */
typedef struct answer {
    float y[Y], dw[W], copy[Y];
} answer;

typedef struct work {
    cla_runtime *rt, *inner;
    cla_tensor *x, *w, *copy, *view;
    cla_ragged *rows;
    cla_tape *tape;
} work;

static void close_work(work *k)
{
    cla_tensor_free(&k->view);
    cla_runtime_free(&k->inner);
    cla_tape_free(&k->tape);
    cla_ragged_free(&k->rows);
    cla_tensor_free(&k->copy);
    cla_tensor_free(&k->w);
    cla_tensor_free(&k->x);
    cla_runtime_free(&k->rt);
}

static cla_status make(work *k)
{
    static const int32_t offsets[] = { 0, 5, 5, 24 };
    float x[TOKENS * INPUTS], w[W];
    for (int i = 0; i < TOKENS * INPUTS; i++) {
        x[i] = sinf((float)i);
    }
    for (int i = 0; i < W; i++) {
        w[i] = 0.3f * cosf((float)i);
    }
    CLA_TRY(cla_runtime_new(&k->rt, NULL));
    cla_profile_enable(k->rt, true);
    CLA_TRY(cla_tensor_new(&k->x, k->rt, CLA_F32, 2, (int64_t[]){ TOKENS, INPUTS }));
    CLA_TRY(cla_tensor_new(&k->w, k->rt, CLA_F32, 2,
                           (int64_t[]){ INPUTS + WIDTH, 4 * WIDTH }));
    CLA_TRY(cla_tensor_new(&k->copy, k->rt, CLA_F32, 2, (int64_t[]){ TOKENS, WIDTH }));
    CLA_TRY(cla_tensor_upload(k->x, x));
    CLA_TRY(cla_tensor_upload(k->w, w));
    CLA_TRY(cla_tensor_fill(k->copy, 0));
    cla_tensor_want_grad(k->w, true);
    CLA_TRY(cla_ragged_new(&k->rows, k->rt, 3, offsets));
    return cla_tape_new(&k->tape, k->rt, true);
}

/* Reads y through a wrapped buffer, with a second runtime on the queue of the first. */
static cla_status read_wrapped(work *k, const cla_tensor *y, float *host)
{
    const size_t bytes = Y * sizeof(float);
    const cla_memory to = { .mem = cla_tensor_buffer(k->copy), .bytes = bytes };
    const cla_memory from = { .mem = cla_tensor_buffer(y), .bytes = bytes, .part = 1 };
    CLA_TRY(cla_memory_copy(k->rt, &to, 0, &from, 0, bytes));
    CLA_TRY(cla_runtime_flush(k->rt));
    CLA_TRY(cla_runtime_wrap(&k->inner, cla_runtime_context(k->rt),
                             cla_runtime_cl_queue(k->rt)));
    CLA_TRY(cla_tensor_wrap(&k->view, k->inner, cla_tensor_buffer(k->copy), CLA_F32, 2,
                            (int64_t[]){ TOKENS, WIDTH }));
    return cla_tensor_download(k->view, host);
}

static cla_status compute(work *k, answer *a)
{
    cla_tensor *y = NULL;
    CLA_TRY(make(k));
    CLA_TRY(cla_lstm(k->tape, &y, k->x, k->w, NULL, k->rows, NULL));
    CLA_TRY(cla_tensor_download(y, a->y));
    CLA_TRY(cla_tape_seed(k->tape, y, NULL));
    CLA_TRY(cla_tape_backward(k->tape));
    CLA_TRY(cla_tensor_download(cla_tensor_grad(k->w), a->dw));
    CLA_TRY(read_wrapped(k, y, a->copy));
    CLA_TRY(cla_runtime_finish(k->rt));
    return cla_profile_rows(k->rt, NULL) ? CLA_OK : CLA_E_DEVICE;
}

static cla_status run(answer *a)
{
    work k = { 0 };
    memset(a, 0xFF, sizeof *a); // NaN
    const cla_status status = compute(&k, a);
    close_work(&k);
    return status;
}

static bool same_bits(const answer *a, const answer *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool close_enough(const answer *a, const answer *b)
{
    const float *x = a->y, *y = b->y;
    for (size_t i = 0; i < sizeof *a / sizeof *x; i++) {
        if (!(fabsf(x[i] - y[i]) <= 1e-5f * fmaxf(1, fabsf(y[i])))) return false;
    }
    return true;
}

/* ---- stderr -------------------------------------------------------------------- */

static char said[4096];
static FILE *caught;
static int own_stderr;

static void catch_stderr(void)
{
    cla_log_set(cla_log_to_stderr, NULL);
    caught = tmpfile();
    cr_assert_not_null(caught);
    own_stderr = dup(STDERR_FILENO);
    dup2(fileno(caught), STDERR_FILENO);
}

static void release_stderr(void)
{
    dup2(own_stderr, STDERR_FILENO);
    close(own_stderr);
    rewind(caught);
    said[fread(said, 1, sizeof said - 1, caught)] = '\0';
    fclose(caught);
}

/* ---- a cache of its own ---------------------------------------------------------- */

static char folder[] = "/tmp/clattn-lie-XXXXXX";

static void begin(void)
{
    unsetenv("CLATTN_DEVICE");
    unsetenv("CLATTN_SCHEDULE");
    setenv("CLATTN_TUNING", "/nonexistent/tuning.json", 1);
    cr_assert_not_null(mkdtemp(folder));
    setenv("CLATTN_CACHE_DIR", folder, 1);
    setenv("CLATTN_CACHE_BINARIES", "1", 1); // otherwise PoCL loads and saves nothing
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(lie, .init = begin, .fini = end);

/* ---- properties ------------------------------------------------------------------ */

/* The error that a false property must cause; properties that are not here change
 * nothing. */
static const struct {
    cl_device_info what;
    const char *refusal;
} refusals[] = {
    { CL_DEVICE_NAME, "cannot read its name" },
    { CL_DRIVER_VERSION, "cannot read its driver version" },
    { CL_DEVICE_VERSION, "cannot read its version" },
    { CL_DEVICE_TYPE, "its type" },
    { CL_DEVICE_GLOBAL_MEM_SIZE, "its memory size" },
    { CL_DEVICE_MAX_MEM_ALLOC_SIZE, "its largest buffer" },
    { CL_DEVICE_LOCAL_MEM_SIZE, "its local memory size" },
    { CL_DEVICE_MAX_COMPUTE_UNITS, "its number of compute units" },
    { CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, "its vector width" },
};

static const char *refusal_of(cl_device_info what)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (refusals[i].what == what) return refusals[i].refusal;
    }
    return NULL;
}

static void expect_lie(cl_device_info what, lie_kind kind, const answer *truth)
{
    answer a;
    const char *refusal = refusal_of(what);
    lie_about(what, kind, 0);
    catch_stderr();
    const cla_status status = run(&a);
    release_stderr();
    lie_stop();
    if (refusal) {
        cr_expect_eq(status, CLA_E_DEVICE, "%x, lie %d: status %d", what, kind, status);
        cr_expect(strstr(said, refusal) && strstr(said, "is not used"),
                  "%x, lie %d: '%s'", what, kind, said);
        return;
    }
    cr_expect_eq(status, CLA_OK, "%x, lie %d: %s", what, kind, cla_error());
    cr_expect_str_empty(said, "%x, lie %d: '%s'", what, kind, said);
    cr_expect(same_bits(&a, truth), "%x, lie %d: another result", what, kind);
}

/* Each property that a run reads is false in three ways; so are those that libraries
 * read. */
Test(lie, properties)
{
    answer truth;
    lie_record();
    TEST_OK(run(&truth));
    cl_device_info asked[64];
    const int count = lie_recorded(asked, 64);
    cr_assert(count > 8 && count < 64, "%d properties", count);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        bool found = false;
        for (int j = 0; j < count; j++) {
            found = found || asked[j] == refusals[i].what;
        }
        cr_expect(found, "property %x was not read", refusals[i].what);
    }
    for (int i = 0; i < count; i++) {
        for (int kind = LIE_FAILS; kind <= LIE_HUGE; kind++) {
            const bool text = asked[i] >= CL_DEVICE_NAME && asked[i] <= 0x1030;
            if (kind < LIE_HUGE || !text) expect_lie(asked[i], kind, &truth);
        }
    }
}

/* Sizes that devices do have give the same result. */
Test(lie, odd_but_honest_sizes)
{
    static const struct {
        cl_device_info what;
        cl_ulong value;
    } sizes[] = {
        { CL_DEVICE_MAX_COMPUTE_UNITS, 1 },
        { CL_DEVICE_MAX_COMPUTE_UNITS, 3 },
        { CL_DEVICE_MAX_COMPUTE_UNITS, 1024 },
        { CL_DEVICE_MAX_CLOCK_FREQUENCY, 1 },
        { CL_DEVICE_LOCAL_MEM_SIZE, 32 << 10 },
        { CL_DEVICE_MAX_MEM_ALLOC_SIZE, 128 << 20 },
        { CL_DEVICE_MEM_BASE_ADDR_ALIGN, 32768 },
        { CL_DEVICE_HOST_UNIFIED_MEMORY, 0 },
    };
    answer truth, a;
    TEST_OK(run(&truth));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lie_about(sizes[i].what, LIE_VALUE, sizes[i].value);
        const cla_status status = run(&a);
        lie_stop();
        cr_expect_eq(status, CLA_OK, "%x: %s", sizes[i].what, cla_error());
        cr_expect(close_enough(&a, &truth), "%x = %llu: another result", sizes[i].what,
                  (unsigned long long)sizes[i].value);
    }
}

/* ---- recordings ------------------------------------------------------------------ */

/* Returns what a run records, as the device of a class ("": none is named). */
static char *recording(const char *class)
{
    answer a;
    char file[64], *text = NULL;
    size_t size = 0;
    snprintf(file, sizeof file, "%s/launches.jsonl", folder);
    setenv("CLATTN_RECORD", folder, 1);
    setenv("CLATTN_CLASS", class, 1);
    TEST_OK(run(&a));
    TEST_OK(cla_file_read(file, &text, &size));
    cr_assert_eq(unlink(file), 0);
    return text;
}

/* A recording for a GPU is the same whatever the host's device says of itself. */
Test(lie, recordings_do_not_tell_the_host)
{
    static const char *const classes[] = { "", "amd" };
    static const char *const unrolls[] = { "UNROLL\": 4", "UNROLL\": 16" };
    static const cl_ulong vendors[] = { 0x1002, 0x1022, 0x10de, 0x8086 };
    for (int c = 0; c < 2; c++) {
        cl_device_info asked[64];
        lie_record();
        char *truth = recording(classes[c]);
        const int count = lie_recorded(asked, 64);
        cr_assert(count > 8 && strstr(truth, unrolls[c]));
        for (int i = -4; i < count; i++) {
            const cl_device_info what = i < 0 ? CL_DEVICE_VENDOR_ID : asked[i];
            lie_about(what, LIE_VALUE, i < 0 ? vendors[i + 4] : 0);
            char *text = refusal_of(what) ? NULL : recording(classes[c]);
            lie_stop();
            cr_expect(!text || !strcmp(text, truth), "%x, '%s'", what, classes[c]);
            free(text);
        }
        free(truth);
    }
}

/* ---- entry points ---------------------------------------------------------------- */

/* Returns whether a run may succeed although this call fails. Releases have nothing to
 * report, and a run does without the cache, a binary that the driver refuses, and the
 * first build of a program, which is tried in another way. All other failures must be
 * errors. */
static bool may_fail(const char *call)
{
    static const char *const calls[] = { "clGetProgramInfo",
                                         "clCreateProgramWithBinary",
                                         "clGetProgramBuildInfo", "clBuildProgram" };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i], call) == 0) return true;
    }
    return strncmp(call, "clRelease", 9) == 0;
}

static void expect_failure(const char *call, cl_int code, const answer *truth)
{
    answer a;
    lie_in(call, code);
    catch_stderr();
    const cla_status status = run(&a);
    release_stderr();
    cr_expect(lie_told(), "%s is never called", call);
    lie_stop();
    if (status) {
        cr_expect(*cla_error() && !strchr(cla_error(), '\n'), "%s: no line", call);
    } else {
        cr_expect(same_bits(&a, truth), "%s, %d: another result", call, code);
        cr_expect(may_fail(call), "%s, %d: not reported", call, code);
    }
}

/* One code of each kind that the runtime distinguishes. */
static const cl_int few[] = { CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, -1001 };
enum { FEW = sizeof few / sizeof *few };

/* Fills in all codes of OpenCL 1.2, the loader's -1001, and an unknown one. Returns
 * their number. */
static int all_codes(cl_int codes[80])
{
    int count = 0;
    for (cl_int code = -1; code >= -68; code--) {
        if (code >= -19 || code <= -30) codes[count++] = code;
    }
    codes[count++] = -1001;
    codes[count++] = -9999;
    return count;
}

/* Programs come from the cache, so that a run takes milliseconds. Each call returns the
 * few codes and two others, by turns; with CLATTN_FAULTS=all it returns all of them. */
Test(lie, calls)
{
    cl_int codes[80];
    const char *wish = getenv("CLATTN_FAULTS");
    const bool all = wish && strcmp(wish, "all") == 0;
    const int count = all_codes(codes);
    int next = 0;
    answer truth, a;
    TEST_OK(run(&truth));
    for (int i = 0; lie_calls[i]; i++) {
        if (lie_is_cold(lie_calls[i])) continue;
        for (int j = 0; j < FEW; j++) {
            expect_failure(lie_calls[i], few[j], &truth);
        }
        for (int j = 0; j < (all ? count : 2); j++) {
            expect_failure(lie_calls[i], codes[next++ % count], &truth);
        }
        TEST_OK(run(&a));
        cr_expect(same_bits(&a, &truth), "behind %s", lie_calls[i]);
    }
}

/* Calls that a run with a cold cache makes. */
Test(lie, calls_of_compilation)
{
    answer truth, a;
    TEST_OK(run(&truth));
    for (int i = 0; lie_calls[i]; i++) {
        if (!lie_is_cold(lie_calls[i])) continue;
        for (int j = 0; j < FEW; j++) {
            end();
            expect_failure(lie_calls[i], few[j], &truth);
        }
        TEST_OK(run(&a));
        cr_expect(same_bits(&a, &truth), "behind %s", lie_calls[i]);
    }
}
