/* cmd_verify.c - clattn verify: runs golden cases on a device under both schedules. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/golden.h"
#include "cli/verify.h"
#include "ops/matmul.h"

typedef struct verify_options {
    const char *device; // as for cla_runtime_new, or "all"; NULL: not given
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
    size_t file_count;
    int devices;      // that were run
    int runs, failed; // a run is a case under one schedule
    int mismatches;   // failed runs of valid files
    char first[1600]; // describes the first mismatch
    int bad_file;     // exit code for the first file that could not be used
    int bad_device;   // exit code for the first device that could not be used
} verification;

static const cli_option options[] = {
    { "device", 'd', "DEVICE|all",
      "as for the other commands, or all of them one after the other", CLI_TEXT,
      .at = offsetof(verify_options, device) },
    CLI_PRECISION,
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
        "unless CLATTN_SCHEDULE is set. The exit status is 1 when a case fails on any "
        "device.",
};

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
    const char *slash = cla_os_last_slash(path);
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
    const cla_device *d = cla_runtime_device(v->rt);
    json_t *o = json_pack(
        "{so ss? ss so si so so sb}", "case", cli_json_text(row->name), "op", row->op,
        "schedule", schedule_name(row->schedule), "device", cli_json_text(d->name),
        "index", d->index, "uuid", *d->uuid ? json_string(d->uuid) : json_null(),
        "driver", cli_json_text(d->driver), "ok", (int)r->ok);
    json_object_set_new(o, "nmse", row->error ? json_null() : number_or_null(r->nmse));
    json_object_set_new(o, "max_abs",
                        row->error ? json_null() : number_or_null(r->max_abs));
    json_object_set_new(o, "worst", row->error ? json_null() : json_string(r->worst));
    if (row->error) {
        json_object_set_new(o, "error", cli_json_text(row->error));
    }
    const cla_status status = cli_print_json(o);
    fflush(stdout); // a driver may end the process in the next run
    return status;
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
    const char *set = cla_os_getenv("CLATTN_SCHEDULE");
    v->schedule_count = 0;
    if (set && *set) {
        v->schedules[v->schedule_count++] = cla_runtime_schedule(v->rt);
        return;
    }
    v->schedules[v->schedule_count++] = CLA_SCHEDULE_TILE;
    v->schedules[v->schedule_count++] = CLA_SCHEDULE_GROUP;
}

static cla_status open_device(verification *v, const char *device)
{
    CLA_TRY(cla_runtime_new(&v->rt, device));
    // a wrong CLATTN_GEMM is an error even where no case multiplies
    CLA_TRY(cla_product_set_provider(v->rt, CLA_PROVIDER_AUTO));
    choose_schedules(v);
    return CLA_OK;
}

/* Runs the cases on v->rt in reverse order, if its driver keeps kernels. */
static cla_status run_backwards(verification *v)
{
    for (size_t i = v->file_count; cla_runtime_keeps_kernels(v->rt) && i > 0; i--) {
        CLA_TRY(run_file(v, v->files[i - 1]));
    }
    return CLA_OK;
}

static cla_status run_forwards(verification *v)
{
    const cla_device *d = cla_runtime_device(v->rt);
    if (!v->options->json) {
        printf("%sdevice %d: %s (%s, driver %s)\n", v->devices > 1 ? "\n" : "",
               d->index, d->name, d->platform_name, d->driver);
    }
    for (size_t i = 0; i < v->file_count; i++) {
        CLA_TRY(run_file(v, v->files[i]));
        fflush(stdout);
    }
    return CLA_OK;
}

/* Opens a device, calls run and closes it. */
static cla_status on_device(verification *v, const char *device,
                            cla_status (*run)(verification *v))
{
    v->devices++;
    cla_status status = open_device(v, device);
    status = status ? status : run(v);
    cla_runtime_free(&v->rt);
    return status;
}

/* Calls run on every device. A device that fails is named; the others still run. */
static cla_status on_all(verification *v, cla_status (*run)(verification *v))
{
    cla_device *list = NULL;
    int count = 0;
    cla_status status = cla_devices(&list, &count);
    if (!status && !count) {
        status = cla_fail(CLA_E_DEVICE, "verify: no OpenCL device");
    }
    for (int i = 0; i < count && status != CLA_E_NOMEM && status != CLA_E_USAGE; i++) {
        char where[32];
        snprintf(where, sizeof where, "%d:%d", list[i].platform, list[i].member);
        status = on_device(v, where, run);
        if (status && status != CLA_E_NOMEM && status != CLA_E_USAGE) {
            cla_fail_within(status, "device %d (%s)", list[i].index, list[i].name);
            const int code = cli_fail_data(status);
            v->bad_device = v->bad_device ? v->bad_device : code;
            status = CLA_OK;
        }
    }
    cla_devices_free(&list);
    return status;
}

static cla_status on_devices(verification *v, cla_status (*run)(verification *v))
{
    const char *device = v->options->device;
    return device && strcmp(device, "all") == 0 ? on_all(v, run)
                                                : on_device(v, device, run);
}

/* Works in a second process: a driver with a cache of its own takes a minute to compile
 * all kernels, on one processor. When the two processes meet, all kernels are in the
 * cache. */
static void run_ahead(void *state)
{
    on_devices(state, run_backwards); // the first process reports what fails
}

static cla_status run_files(verification *v)
{
    CLA_TRY(on_devices(v, run_forwards));
    if (!v->options->json) {
        printf("%d runs of %zu cases", v->runs, v->file_count);
        if (v->devices > 1) {
            printf(" on %d devices", v->devices);
        }
        printf(", %d failed\n", v->failed);
    }
    return CLA_OK;
}

static cla_status verify(verification *v)
{
    enum { FEW = 8 }; // at most so many files are not worth a second process
    CLA_TRY(cli_verify_files(&v->options->paths, &v->files, &v->file_count));
    const int64_t ahead = v->file_count > FEW ? cla_os_copy(run_ahead, v) : 0;
    const cla_status status = run_files(v);
    cla_os_copy_end(ahead);
    return status;
}

/* Returns the exit code. Wrong results take precedence over files that failed. */
static int verdict(const verification *v)
{
    if (v->mismatches == 0) {
        return v->bad_device ? v->bad_device : v->bad_file;
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
    cla_folder_list_free(&v.files, v.file_count);
    return code;
}
