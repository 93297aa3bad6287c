/* harness.c - a benchmark run: its cases, devices and schedules. */
#include "bench/harness.h"

#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "base/rng.h"
#include "bench/internal.h"
#include "runtime/runtime.h"

cla_runtime *bench_runtime(bench *b)
{
    return b->rt;
}

bool bench_quick(const bench *b)
{
    return b->options->quick;
}

bool bench_peers(const bench *b)
{
    return !b->only;
}

static void count_case(bench_progress *p, const char *name)
{
    if (strcmp(p->name, name) != 0) {
        snprintf(p->name, sizeof p->name, "%s", name);
        p->total++;
    }
}

bool bench_wants(bench *b, const char *suite, const char *name)
{
    const char *only = b->options->suite;
    if (b->only) {
        return strcmp(b->only, name) == 0;
    }
    const bool wanted = (!only || strcmp(only, suite) == 0) &&
                        (!b->filter || cla_pattern_matches(b->filter, name));
    if (wanted && b->counting) {
        count_case(&b->progress, name);
    } else if (wanted) {
        bench_progress_case(&b->progress, name);
    }
    return wanted && !b->counting;
}

cla_status bench_tensor(bench *b, cla_tensor **t, int rank, const int64_t *shape,
                        bool want_grad)
{
    CLA_TRY(cla_tensor_new(t, b->rt, CLA_F32, rank, shape));
    const int64_t size = cla_tensor_size(*t);
    float *host = NULL;
    cla_status status = cla_alloc(&host, (size_t)size, sizeof *host);
    if (!status) {
        cla_random_normal(host, size, 1.0f, 42, b->streams++);
        status = cla_tensor_upload(*t, host);
    }
    free(host);
    cla_tensor_want_grad(*t, want_grad);
    if (status) {
        cla_tensor_free(t);
    }
    return status;
}

cla_status bench_rows(bench *b, cla_ragged **rows, int sequences, int length)
{
    int32_t *offsets = NULL;
    CLA_TRY(cla_alloc(&offsets, (size_t)sequences + 1, sizeof *offsets));
    for (int i = 0; i <= sequences; i++) {
        offsets[i] = i * length;
    }
    const cla_status status = cla_ragged_new(rows, b->rt, sequences, offsets);
    free(offsets);
    return status;
}

/* ---- one case ---------------------------------------------------------------- */

static cla_status need_peaks(bench *b)
{
    if (b->peaks.gbs > 0) {
        return CLA_OK;
    }
    CLA_TRY(bench_peaks_measure(&b->peaks, b->rt, b->options->quick));
    bench_report_peaks(b);
    return CLA_OK;
}

/* Checks the result of a case. *right is true for a case that is not checked. */
static cla_status verify(bench *b, const bench_case *c, bool *right)
{
    double nmse = 0;
    b->verified = b->options->verify && c->check;
    if (b->verified) {
        const int64_t begun = cla_time_ns();
        CLA_TRY(c->check(c->state, &nmse));
        b->sums.check_s += (double)(cla_time_ns() - begun) * 1e-9;
    }
    *right = nmse <= bench_nmse(b->rt); // false for NaN
    if (!*right) {
        bench_report_failure(b, c, nmse);
    }
    return CLA_OK;
}

static cla_status run_one(bench *b, const bench_case *c)
{
    bool right = true;
    CLA_TRY(verify(b, c, &right));
    if (!right) {
        return CLA_OK;
    }
    bench_samples samples = { 0 };
    cla_memory_forget_peak(b->rt);
    cla_status status = bench_sample(b, c, &samples);
    b->sums.first_s += samples.first_ms * 1e-3;
    status = status ? status : bench_record(b, c, &samples);
    free(samples.ms);
    return status;
}

bool bench_takes_both(const bench *b)
{
    const char *chosen = cla_os_getenv("CLATTN_SCHEDULE");
    return !(chosen && *chosen) && !b->only && !bench_quick(b);
}

static cla_status run_schedules(bench *b, const bench_case *c)
{
    static const struct {
        cla_schedule schedule;
        const char *name;
    } all[] = { { CLA_SCHEDULE_TILE, "tile" }, { CLA_SCHEDULE_GROUP, "group" } };
    const bool both = bench_takes_both(b);
    const cla_schedule own = cla_runtime_schedule(b->rt);
    cla_status status = CLA_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && !status; i++) {
        if (!both && all[i].schedule != own) {
            continue;
        }
        bench_case one = *c;
        one.provider = all[i].name;
        cla_runtime_set_schedule(b->rt, all[i].schedule);
        status = run_one(b, &one);
    }
    cla_runtime_set_schedule(b->rt, CLA_SCHEDULE_AUTO);
    return status;
}

/* Runs a case once, to record its launches. Launches by libraries are not recorded. */
static cla_status record_one(bench *b, const bench_case *c)
{
    b->shown++;
    const bool own = !c->on_host && !(c->provider && !strcmp(c->provider, "clblast"));
    if (!own) {
        return CLA_OK;
    }
    cla_status status = cla_record_case(b->rt, c->name, c->flops, c->bytes);
    status = status ? status : c->run(c->state);
    const cla_status ended = cla_record_case(b->rt, NULL, 0, 0);
    status = status ? status : ended;
    return status ? cla_fail_within(status, "%s", c->name) : CLA_OK;
}

cla_status bench_run(bench *b, const bench_case *c)
{
    if (!bench_wants(b, c->suite, c->name)) {
        return CLA_OK;
    }
    if (cla_runtime_records(b->rt)) {
        return record_one(b, c);
    }
    CLA_TRY(need_peaks(b));
    const cla_status status = c->provider ? run_one(b, c) : run_schedules(b, c);
    return status ? cla_fail_within(status, "%s", c->name) : CLA_OK;
}

/* ---- one device, all devices ------------------------------------------------- */

/* Counts the cases of the suites without running them. */
static cla_status count_cases(bench *b)
{
    const bool silent = b->silent;
    b->progress = (bench_progress){ 0 };
    b->counting = b->silent = true;
    const cla_status status = bench_suites_each(b, b->options->suite);
    b->counting = false;
    b->silent = silent;
    return status;
}

static cla_status run_device(bench *b, const char *device)
{
    b->peaks = (bench_peaks){ 0 };
    b->row_count = 0;
    b->suite = NULL;
    b->sums = (bench_sums){ .begun_ns = cla_time_ns() };
    CLA_TRY(cla_runtime_new(&b->rt, device));
    if (b->options->precision) {
        cla_precision precision = CLA_PRECISION_HIGHEST;
        CLA_TRY(cla_precision_read("--precision", b->options->precision, &precision));
        CLA_TRY(cla_runtime_set_precision(b->rt, precision));
    }
    cla_runtime_on_save(b->rt, bench_progress_saving, &b->progress);
    bench_report_device(b);
    cla_status status = count_cases(b);
    bench_progress_begin(&b->progress);
    status = status ? status : bench_suites_each(b, b->options->suite);
    bench_progress_clear(&b->progress);
    b->sums.cases = b->progress.number;
    bench_report_end(b);
    status = status ? status : bench_beside_add(&b->beside, b);
    cla_runtime_free(&b->rt);
    return status;
}

/* Runs on all devices. A device that fails is named; the others are still measured. */
static cla_status run_all(bench *b)
{
    cla_device *list = NULL;
    int count = 0;
    CLA_TRY(cla_devices(&list, &count));
    cla_status first =
        count ? CLA_OK : cla_fail(CLA_E_DEVICE, "bench: no OpenCL device");
    for (int i = 0; i < count; i++) {
        char where[32];
        snprintf(where, sizeof where, "%d:%d", list[i].platform, list[i].member);
        if (i) {
            printf("\n");
        }
        const cla_status status = run_device(b, where);
        if (status) {
            cla_log(CLA_LOG_ERROR, "device %d: %s", i, cla_error());
        }
        first = first ? first : status;
    }
    cla_devices_free(&list);
    bench_report_devices(b);
    return first;
}

/* ---- a whole run ------------------------------------------------------------- */

static cla_status compile_filter(bench *b)
{
    const char *pattern = b->options->filter;
    if (!pattern) {
        return CLA_OK;
    }
    char reason[128];
    b->filter = cla_pattern_new(pattern, reason, sizeof reason);
    if (!b->filter) {
        return cla_fail(CLA_E_USAGE, "bench: --filter '%s': %s", pattern, reason);
    }
    return CLA_OK;
}

/* Warns before the measurements when other work would disturb them. */
static void check_load(void)
{
    const bench_load load = bench_load_now(NULL, false);
    if (bench_load_is_high(&load)) {
        char text[96];
        bench_load_text(&load, text, sizeof text);
        cla_log(CLA_LOG_WARN, "bench: %s", text);
    }
}

static cla_status check_options(bench *b)
{
    CLA_TRY(bench_suites_check(b->options->suite));
    CLA_TRY(bench_custom_check(b->options->custom));
    return compile_filter(b);
}

static cla_status run(bench *b)
{
    const bench_options *o = b->options;
    const bool all = o->device && strcmp(o->device, "all") == 0;
    CLA_TRY(check_options(b));
    check_load();
    CLA_TRY(all ? run_all(b) : run_device(b, o->device));
    if (!b->shown && !b->failed) {
        return cla_fail(CLA_E_USAGE, "bench: no case matches '%s'%s%s",
                        o->filter ? o->filter : "", o->suite ? " in suite " : "",
                        o->suite ? o->suite : "");
    }
    CLA_TRY(bench_rows_open(b)); // an empty file when all results were wrong
    return bench_rows_close(b);
}

cla_status bench_suites_run(const bench_options *options, int *failed)
{
    bench b = { .options = options, .file = -1 };
    b.columns = bench_columns(CLA_STDOUT);
    cla_status status = run(&b);
    const cla_status closed = bench_rows_close(&b);
    status = status ? status : closed;
    *failed = b.failed;
    cla_pattern_free(&b.filter);
    free(b.rows);
    bench_beside_fini(&b.beside);
    return status;
}
