/* cmd_verify.c - clattn verify: runs golden cases on a device under both schedules. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/ahead.h"
#include "cli/cli.h"
#include "cli/golden.h"
#include "ops/matmul.h"

typedef struct verify_options {
    const char *device; // NULL: not given
    bool json;
    cli_words paths;
} verify_options;

/* The verification of all files. */
typedef struct verification {
    const verify_options *options;
    cla_runtime *rt;
    cla_schedule schedules[2];
    int schedule_count;
    char **files;
    size_t file_count, file_cap;
    int runs, failed; // a run is a case under one schedule
    int mismatches;   // failed runs of valid files
    char first[1600]; // describes the first mismatch
    int bad_file;     // exit code for the first file that could not be used
} verification;

static const cli_option options[] = {
    CLI_DEVICE(verify_options, device),
    CLI_JSON(verify_options, json),
    { 0 },
};

const cli_usage cli_verify_usage = {
    .options = options,
    .words = "[PATH...]",
    .words_at = offsetof(verify_options, paths),
    .most = INT_MAX,
    .about =
        "Runs golden cases forward and backward and compares the results with those in "
        "the files. PATH is a file or a folder with .safetensors files; without one "
        "the "
        "built-in cases run, a check of a device and its driver. Both schedules run "
        "unless CLATTN_SCHEDULE is set. The exit status is 1 when a case fails.",
};

/* ---- files ------------------------------------------------------------------- */

static cla_status add_path(verification *v, const char *path)
{
    char **found = NULL;
    size_t count = 0;
    CLA_TRY(cla_folder_list(path, ".safetensors", &found, &count));
    if (count == 0) {
        return cla_fail(CLA_E_INPUT, "%s: contains no .safetensors file", path);
    }
    const cla_status status =
        cla_grow(&v->files, &v->file_cap, v->file_count + count, sizeof(char *));
    if (status) {
        cla_folder_list_free(&found, count);
        return status;
    }
    memcpy(v->files + v->file_count, found, count * sizeof(char *));
    v->file_count += count;
    free(found);
    return CLA_OK;
}

/* Gives the folder of the built-in cases: beside the installed program, beside the
 * built one, or the one that an installation fills. */
static cla_status builtin_folder(cla_text *folder)
{
    static const char *const places[] = { "../share/clattn/golden",
                                          "tests/data/golden" };
    char program[4096];
    const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size > 0 ? size : 0] = '\0';
    char *slash = strrchr(program, '/');
    for (int i = 0; slash && i < 2; i++) {
        folder->size = 0;
        CLA_TRY(cla_text_add(folder, "%.*s/%s", (int)(slash - program), program,
                             places[i]));
        if (access(folder->data, R_OK) == 0) {
            return CLA_OK;
        }
    }
    folder->size = 0;
    return cla_text_add(folder, "%s/golden", CLATTN_DATA_FOLDER);
}

static cla_status list_files(verification *v)
{
    const verify_options *o = v->options;
    for (int i = 0; i < o->paths.count; i++) {
        CLA_TRY(add_path(v, o->paths.word[i]));
    }
    if (o->paths.count > 0) {
        return CLA_OK;
    }
    cla_text folder = { 0 };
    cla_status status = builtin_folder(&folder);
    status = status ? status : add_path(v, folder.data);
    cla_text_free(&folder);
    return status;
}

/* ---- one line for each run --------------------------------------------------- */

static const char *schedule_name(cla_schedule schedule)
{
    return schedule == CLA_SCHEDULE_TILE ? "tile" : "group";
}

/* Returns null for infinity and NaN, which JSON lacks. */
static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Writes the name of a case: its file name without folder and suffix. */
static void case_name(char *name, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && strcmp(dot, ".safetensors") == 0) {
        *dot = '\0';
    }
}

/* A run as it is printed; error is NULL when there are results to compare. */
typedef struct run_row {
    const char *name, *op, *error;
    cla_schedule schedule;
    const golden_result *result;
} run_row;

static cla_status print_object(const verification *v, const run_row *row)
{
    const golden_result *r = row->result;
    json_t *o =
        json_pack("{so ss? ss so sb}", "case", cli_json_text(row->name), "op", row->op,
                  "schedule", schedule_name(row->schedule), "device",
                  cli_json_text(cla_runtime_device(v->rt)->name), "ok", (int)r->ok);
    json_object_set_new(o, "nmse", row->error ? json_null() : number_or_null(r->nmse));
    json_object_set_new(o, "max_abs",
                        row->error ? json_null() : number_or_null(r->max_abs));
    json_object_set_new(o, "worst", row->error ? json_null() : json_string(r->worst));
    if (row->error) {
        json_object_set_new(o, "error", cli_json_text(row->error));
    }
    return cli_print_json(o);
}

static cla_status print_row(verification *v, const run_row *row)
{
    const golden_result *r = row->result;
    if (v->options->json) {
        return print_object(v, row);
    }
    printf("%-6s  %-28s %-5s  ", r->ok ? "ok" : "FAILED", row->name,
           schedule_name(row->schedule));
    if (row->error) {
        printf("%s\n", row->error);
    } else {
        printf("nmse %.1e  max %.1e  %s\n", r->nmse, r->max_abs, r->worst);
    }
    return CLA_OK;
}

/* Counts a run whose file is valid and whose result is wrong; describes the first. */
static void count_mismatch(verification *v, const run_row *row)
{
    const golden_result *r = row->result;
    if (v->mismatches++) {
        return;
    }
    char what[256];
    snprintf(what, sizeof what, "%s[%lld] is off by %.1e, nmse %.1e", r->worst,
             (long long)r->at, r->max_abs, r->nmse);
    snprintf(v->first, sizeof v->first, "%s (%s): %s", row->name,
             schedule_name(row->schedule), row->error ? row->error : what);
}

/* ---- running ----------------------------------------------------------------- */

/* Returns whether a failure concerns one case only, so that the others still run: a
 * user of a new driver needs the list of all kernels that it refuses. */
static bool is_the_cases(cla_status status)
{
    return status == CLA_E_USAGE || status == CLA_E_INPUT || status == CLA_E_SHAPE ||
           status == CLA_E_DEVICE;
}

/* Runs an opened file under one schedule. *status is the status of opening it; on
 * return it includes that of the run. */
static cla_status run_one(verification *v, const char *path, const cla_st_file *file,
                          cla_schedule schedule, cla_status *status)
{
    golden_result result = { .ok = false };
    char name[256], error[1024];
    case_name(name, sizeof name, path);
    cla_runtime_set_schedule(v->rt, schedule);
    if (!*status) {
        *status = golden_run(&result, v->rt, file);
        if (*status) {
            cla_fail_within(*status, "%s", path);
        }
    }
    if (*status && *status != CLA_E_IO && !is_the_cases(*status)) {
        return *status;
    }
    snprintf(error, sizeof error, "%s", cla_error());
    const run_row row = { .name = name,
                          .op = cla_st_meta(file, "op"),
                          .error = *status ? error : NULL,
                          .schedule = schedule,
                          .result = &result };
    v->runs++;
    v->failed += !result.ok;
    if (!result.ok && (!*status || *status == CLA_E_USAGE)) {
        count_mismatch(v, &row);
    }
    return print_row(v, &row);
}

/* Prints the failure of a file once. Wrong results are reported together at the end. */
static void note_bad_file(verification *v, cla_status status)
{
    if (status == CLA_OK || status == CLA_E_USAGE) {
        return;
    }
    const int code = cli_fail_data(status);
    v->bad_file = v->bad_file ? v->bad_file : code;
}

static cla_status run_file(verification *v, const char *path)
{
    cla_st_file file;
    cla_status status = cla_st_open(&file, path), first = CLA_OK;
    cla_status stop = status == CLA_E_NOMEM ? status : CLA_OK;
    for (int i = 0; i < v->schedule_count && !stop; i++) {
        cla_status own = status;
        stop = run_one(v, path, &file, v->schedules[i], &own);
        first = first ? first : own;
    }
    if (!stop) {
        note_bad_file(v, first);
    }
    cla_st_close(&file);
    return stop;
}

static void choose_schedules(verification *v)
{
    const char *set = getenv("CLATTN_SCHEDULE");
    if (set && *set) {
        v->schedules[v->schedule_count++] = cla_runtime_schedule(v->rt);
        return;
    }
    v->schedules[v->schedule_count++] = CLA_SCHEDULE_TILE;
    v->schedules[v->schedule_count++] = CLA_SCHEDULE_GROUP;
}

static cla_status open_device(verification *v)
{
    CLA_TRY(cla_runtime_new(&v->rt, v->options->device));
    // a wrong CLATTN_GEMM is an error even where no case multiplies
    CLA_TRY(cla_product_set_provider(v->rt, CLA_PROVIDER_AUTO));
    choose_schedules(v);
    return CLA_OK;
}

/* Runs the cases in reverse order in a second process: a driver with a cache of its own
 * takes a minute to compile all kernels, on one processor. When the two processes meet,
 * all kernels are in the cache. */
static void run_backwards(void *state)
{
    verification *v = state;
    if (open_device(v) || !cla_runtime_keeps_kernels(v->rt)) {
        return;
    }
    for (size_t i = v->file_count; i > 0; i--) {
        if (run_file(v, v->files[i - 1])) return;
    }
}

static cla_status run_files(verification *v)
{
    CLA_TRY(open_device(v));
    const cla_device *d = cla_runtime_device(v->rt);
    if (!v->options->json) {
        printf("device %d: %s (%s, driver %s)\n", d->index, d->name, d->platform_name,
               d->driver);
    }
    for (size_t i = 0; i < v->file_count; i++) {
        CLA_TRY(run_file(v, v->files[i]));
        fflush(stdout);
    }
    if (!v->options->json) {
        printf("%d runs of %zu cases, %d failed\n", v->runs, v->file_count, v->failed);
    }
    return CLA_OK;
}

static cla_status verify(verification *v)
{
    enum { FEW = 8 }; // at most so many files are not worth a second process
    CLA_TRY(list_files(v));
    const pid_t ahead = v->file_count > FEW ? cli_ahead_start(run_backwards, v) : 0;
    const cla_status status = run_files(v);
    cli_ahead_stop(ahead);
    return status;
}

/* Returns the exit code. Wrong results take precedence over files that failed. */
static int verdict(const verification *v)
{
    if (v->mismatches == 0) {
        return v->bad_file;
    }
    cla_fail(CLA_E_NUMERIC, "verify: %d of %d runs failed, the first is %s", v->failed,
             v->runs, v->first);
    cli_fail(CLA_E_NUMERIC);
    return CLI_CHECK_FAILED;
}

int cli_verify(int argc, char **argv)
{
    verify_options o = { 0 };
    cla_status status = cli_read(&cli_verify_usage, argc, argv, &o);
    if (status) {
        return cli_fail(status);
    }
    verification v = { .options = &o };
    status = verify(&v);
    const int code = status ? cli_fail_data(status) : verdict(&v);
    cla_runtime_free(&v.rt);
    cla_folder_list_free(&v.files, v.file_count);
    return code;
}
