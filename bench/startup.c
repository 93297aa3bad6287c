/* startup.c - times the start of a process up to its first attention result.
 *
 * The process is this program with kernel caches of its own: empty ones (cold), or
 * those that an earlier such run left behind (warm). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "bench/internal.h"
#include "runtime/runtime.h"

/* Variables for all caches of compiled kernels: ours, PoCL's, other drivers'. */
static const char *const CACHE_VARIABLES[] = { "CLATTN_CACHE_DIR", "POCL_CACHE_DIR",
                                               "XDG_CACHE_HOME", "CUDA_CACHE_PATH",
                                               "MESA_SHADER_CACHE_DIR" };

enum { CACHES = sizeof CACHE_VARIABLES / sizeof *CACHE_VARIABLES };

/* ---- the child --------------------------------------------------------------- */

static cla_status first_attention(cla_runtime *rt)
{
    enum { TOKENS = 32, HEADS = 2, WIDTH = 64 };
    const int64_t shape[] = { TOKENS, HEADS, WIDTH };
    const int32_t offsets[] = { 0, TOKENS };
    static float result[TOKENS * HEADS * WIDTH];
    cla_tape *tape = NULL;
    cla_ragged *rows = NULL;
    cla_tensor *x = NULL, *y = NULL;
    cla_status status = cla_tape_new(&tape, rt, false);
    status = status ? status : cla_ragged_new(&rows, rt, 1, offsets);
    status = status ? status : cla_tensor_new(&x, rt, CLA_F32, 3, shape);
    status = status ? status : cla_tensor_fill(x, 0.5f);
    status = status ? status : cla_band_attention(tape, &y, x, x, x, rows, 5, NULL);
    status = status ? status : cla_tensor_download(y, result);
    if (!status && (result[0] < 0.499f || result[0] > 0.501f)) {
        status = cla_fail(CLA_E_NUMERIC, "startup: attention over constants gave %g",
                          (double)result[0]);
    }
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
    cla_tensor_free(&x);
    return status;
}

cla_status bench_startup_child(const char *device)
{
    cla_runtime *rt = NULL;
    CLA_TRY(cla_runtime_new(&rt, device));
    const cla_status status = first_attention(rt);
    if (!status) {
        printf("%d\n", cla_runtime_builds(rt));
        fflush(stdout);
    }
    cla_runtime_free(&rt);
    return status;
}

/* ---- timing a start ---------------------------------------------------------- */

typedef struct start {
    double ms;
    int compiled;
} start;

static bool is_cache_variable(const char *entry)
{
    for (int i = 0; i < CACHES; i++) {
        const size_t n = strlen(CACHE_VARIABLES[i]);
        if (strncmp(entry, CACHE_VARIABLES[i], n) == 0 && entry[n] == '=') {
            return true;
        }
    }
    return false;
}

/* Makes of the environment `own` one with all caches in one folder. The caller frees
 * *out and entries [CACHES], also on failure; *out points to them and to own. */
static cla_status make_environment(char ***out, cla_text *entries, char **own,
                                   const char *folder)
{
    size_t count = 0, kept = 0;
    while (own[count]) {
        count++;
    }
    CLA_TRY(cla_alloc(out, count + CACHES + 1, sizeof **out));
    for (size_t i = 0; i < count; i++) {
        if (!is_cache_variable(own[i])) {
            (*out)[kept++] = own[i];
        }
    }
    for (size_t i = 0; i < CACHES; i++) {
        CLA_TRY(cla_text_add(&entries[i], "%s=%s", CACHE_VARIABLES[i], folder));
        (*out)[kept++] = entries[i].data;
    }
    return CLA_OK;
}

static cla_status spawn(const bench *b, char **environment, int output, int64_t *child)
{
    char where[32];
    const cla_device *d = cla_runtime_device(b->rt);
    snprintf(where, sizeof where, "%d:%d", d->platform, d->member);
    const char *const argv[] = { b->options->program, "bench", "--startup-child",
                                 "--device",          where,   NULL };
    const int code = cla_os_spawn(child, argv, environment, output);
    return code ? cla_fail(CLA_E_IO, "startup: cannot run '%s': %s", argv[0],
                           strerror(code))
                : CLA_OK;
}

/* Reads the child's answer. The clock stops then, before the child ends. */
static cla_status read_answer(int input, int64_t begin, start *out)
{
    char answer[64] = "";
    size_t size = 0;
    for (int64_t got = 1; got && !strchr(answer, '\n') && size + 1 < sizeof answer;) {
        got = cla_os_read(input, answer + size, sizeof answer - 1 - size);
        if (got < 0 && errno != EINTR) {
            break;
        }
        size += got > 0 ? (size_t)got : 0;
    }
    out->ms = (double)(cla_time_ns() - begin) * 1e-6;
    cla_os_close(input);
    int64_t compiled = 0;
    answer[strcspn(answer, "\n")] = '\0';
    if (!cla_parse_int(answer, &compiled)) {
        return cla_fail(CLA_E_DEVICE, "startup: the child process gave no result");
    }
    out->compiled = (int)compiled;
    return CLA_OK;
}

static cla_status time_child(const bench *b, char **environment, start *out)
{
    int ends[2];
    int64_t child = 0;
    if (!cla_os_pipe(ends)) {
        return cla_fail(CLA_E_IO, "startup: no pipe");
    }
    const int64_t begin = cla_time_ns();
    cla_status status = spawn(b, environment, ends[1], &child);
    cla_os_close(ends[1]);
    if (status) {
        cla_os_close(ends[0]);
    } else {
        status = read_answer(ends[0], begin, out);
        cla_os_await(child);
    }
    return status;
}

static cla_status time_start(const bench *b, const char *folder, start *out)
{
    cla_text entries[CACHES] = { 0 };
    char **environment = NULL;
    char **own = cla_os_environment();
    cla_status status =
        own ? make_environment(&environment, entries, own, folder)
            : cla_fail(CLA_E_NOMEM, "startup: no memory for the environment");
    status = status ? status : time_child(b, environment, out);
    free(environment);
    cla_os_environment_free(own);
    for (int i = 0; i < CACHES; i++) {
        cla_text_free(&entries[i]);
    }
    return status;
}

/* ---- folders ----------------------------------------------------------------- */

/* Counts the files below a folder. PoCL leaves an empty one behind for each binary that
 * it loads; those do not count. */
static int count_files(const char *folder)
{
    char **paths = NULL;
    size_t count = 0;
    int full = 0;
    if (cla_folder_list(folder, "", &paths, &count)) count = 0;
    for (size_t i = 0; i < count; i++) {
        cla_os_info info;
        full += cla_os_info_of(paths[i], &info) && info.size > 0;
    }
    cla_folder_list_free(&paths, count);
    return full;
}

/* Makes a folder in TMPDIR, or in /tmp. *path stays empty on failure, so that
 * remove_folder removes nothing else. */
static cla_status make_folder(cla_text *path)
{
    const char *base = cla_os_temporary();
    cla_text name = { 0 };
    CLA_TRY(cla_text_add(&name, "%s/clattn-start-XXXXXX", base));
    if (!cla_os_make_unique(name.data)) {
        const int code = errno;
        cla_text_free(&name);
        return cla_fail(CLA_E_IO, "startup: cannot make a folder in TMPDIR, '%s': %s",
                        base, strerror(code));
    }
    *path = name;
    return CLA_OK;
}

/* Removes the folder of make_folder with its files, and empties *path. */
static void remove_folder(cla_text *path)
{
    if (path->data) {
        cla_folder_remove(path->data);
    }
    cla_text_free(path);
}

/* ---- the two cases ----------------------------------------------------------- */

static cla_status add_sample(bench_samples *s, double ms)
{
    CLA_TRY(cla_grow(&s->ms, &s->cap, (size_t)s->count + 1, sizeof *s->ms));
    s->ms[s->count++] = ms;
    s->runs++;
    return CLA_OK;
}

static cla_status record(bench *b, const char *name, bench_samples *samples)
{
    bench_case c = { .suite = "startup" };
    c.provider = cla_runtime_schedule(b->rt) == CLA_SCHEDULE_TILE ? "tile" : "group";
    snprintf(c.name, sizeof c.name, "%s", name);
    const cla_status status = bench_record(b, &c, samples);
    free(samples->ms);
    return status;
}

static cla_status run_cold(bench *b)
{
    bench_samples samples = { 0 };
    start one = { 0 };
    cla_status status = CLA_OK;
    for (int i = 0; i < (bench_quick(b) ? 1 : 3) && !status; i++) {
        cla_text folder = { 0 };
        cla_os_hold_stop(true);
        status = make_folder(&folder);
        status = status ? status : time_start(b, folder.data, &one);
        status = status ? status : add_sample(&samples, one.ms);
        remove_folder(&folder);
        cla_os_hold_stop(false);
    }
    CLA_TRY(status);
    CLA_TRY(record(b, "startup cold", &samples));
    bench_note(b, "%d programs compiled (goal: 3 s)", one.compiled);
    return CLA_OK;
}

static cla_status warm_samples(const bench *b, const char *folder,
                               bench_samples *samples, int *compiled)
{
    start one = { 0 };
    CLA_TRY(time_start(b, folder, &one));
    const int before = count_files(folder);
    for (int i = 0; i < (bench_quick(b) ? 5 : 10) && !cla_os_stop_waits(); i++) {
        CLA_TRY(time_start(b, folder, &one));
        CLA_TRY(add_sample(samples, one.ms));
        *compiled += cla_runtime_keeps_kernels(b->rt) ? 0 : one.compiled;
    }
    const int fresh = count_files(folder) - before; // by the driver's own compilation
    *compiled += fresh > 0 ? fresh : 0;
    return CLA_OK;
}

static cla_status run_warm(bench *b)
{
    cla_text folder = { 0 };
    bench_samples samples = { 0 };
    int compiled = 0;
    cla_os_hold_stop(true);
    cla_status status = make_folder(&folder);
    status = status ? status : warm_samples(b, folder.data, &samples, &compiled);
    remove_folder(&folder);
    cla_os_hold_stop(false);
    CLA_TRY(status);
    CLA_TRY(record(b, "startup warm", &samples));
    bench_note(b, "%d programs compiled (goal: 0, and 0.3 s)", compiled);
    return CLA_OK;
}

cla_status bench_startup(bench *b)
{
    if (bench_wants(b, "startup", "startup cold")) {
        CLA_TRY(run_cold(b));
    }
    return bench_wants(b, "startup", "startup warm") ? run_warm(b) : CLA_OK;
}
