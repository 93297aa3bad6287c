/* report_read.c - reads lines of results, runs and verifications; other lines become
 * notes. */
#include <string.h>

#include "base/json.h"
#include "base/platform.h"
#include "bench/identity.h"
#include "cli/report.h"

enum { NAMED = 5 }; // refused lines of a file with a note for each

static bool has(const json_t *object, const char *key)
{
    return json_object_get(object, key) != NULL;
}

static report_kind kind_of(const json_t *object)
{
    return has(object, "step")                        ? REPORT_RUN
           : has(object, "case") && has(object, "ok") ? REPORT_VERIFY
           : has(object, "case")                      ? REPORT_BENCH
                                                      : REPORT_NOTHING;
}

/* ---- one line ------------------------------------------------------------------ */

static cla_status refuse(report *r, report_file *f, cla_status why)
{
    return why == CLA_E_NOMEM || f->refused++ < NAMED ? cli_report_leave_out(r, why)
                                                      : CLA_OK;
}

static cla_status keep(report_file *f, const report_line *line)
{
    CLA_TRY(cla_grow(&f->line, &f->cap, f->count + 1, sizeof *f->line));
    f->line[f->count++] = *line;
    return CLA_OK;
}

/* Takes a row of results; object is consumed. Errors: CLA_E_INPUT, CLA_E_NOMEM. */
static cla_status take_row(report_file *f, json_t *object, const report_line *line)
{
    CLA_TRY(bench_results_add(&f->results, object, line->number));
    const cla_status status = keep(f, line);
    if (status) { // every row needs its line
        json_decref(f->results.rows[--f->results.count].object);
    }
    return status;
}

static cla_status take_step(report_file *f, json_t *object, report_line *line)
{
    const bool whole = json_is_integer(json_object_get(object, "step"));
    line->scores = has(object, "verdict");
    json_decref(object);
    return whole
               ? keep(f, line)
               : cla_fail(CLA_E_INPUT, "%s:%d: 'step' is missing or has a wrong value",
                          f->log.data, line->number);
}

/* Takes a run of a case of `clattn verify'; object is consumed. */
static cla_status take_check(report_file *f, json_t *object, const report_line *line)
{
    const char *key = !json_is_string(json_object_get(object, "case")) ? "case"
                      : !json_is_string(json_object_get(object, "schedule"))
                          ? "schedule"
                      : !json_is_string(json_object_get(object, "device")) ? "device"
                      : !json_is_boolean(json_object_get(object, "ok"))    ? "ok"
                                                                           : NULL;
    json_decref(object);
    return key ? cla_fail(CLA_E_INPUT, "%s:%d: '%s' is missing or has a wrong value",
                          f->log.data, line->number, key)
               : keep(f, line);
}

static cla_status take_object(report_file *f, json_t *object, report_line *line)
{
    f->kind = f->kind ? f->kind : kind_of(object);
    switch (f->kind) {
    case REPORT_BENCH:
        return take_row(f, object, line);
    case REPORT_RUN:
        return take_step(f, object, line);
    case REPORT_VERIFY:
        return take_check(f, object, line);
    default:
        json_decref(object);
        return cla_fail(
            CLA_E_INPUT,
            "%s:%d: no row of `clattn bench --json', `clattn verify --json' or "
            "a log.jsonl",
            f->log.data, line->number);
    }
}

/* Parses a line. last: the file ends within the line. */
static cla_status take_line(report *r, report_file *f, report_line *line, bool last)
{
    json_t *object = NULL;
    cla_status status = cla_json_text(&object, f->log.data, (size_t)line->number,
                                      line->text, line->size, JSON_REJECT_DUPLICATES);
    if (status == CLA_E_INPUT && last && f->count) {
        return cli_report_note(r, "%s:%d: the last line was cut off and is left out",
                               f->log.data, line->number);
    }
    status = status ? status : take_object(f, object, line);
    return status ? refuse(r, f, status) : CLA_OK;
}

static cla_status take_lines(report *r, report_file *f, cla_scan *scan)
{
    for (;;) {
        char *line = NULL;
        size_t size = 0;
        const cla_status status = cla_scan_filled(scan, &line, &size);
        if (status) {
            CLA_TRY(refuse(r, f, status));
        } else if (!line) {
            break;
        } else {
            report_line one = { .text = line,
                                .size = size,
                                .number = (int)scan->number };
            CLA_TRY(take_line(r, f, &one, !scan->ended));
        }
    }
    if (f->refused > NAMED) {
        cla_fail(CLA_E_INPUT, "%s: %d more lines are left out", f->log.data,
                 f->refused - NAMED);
        CLA_TRY(cli_report_leave_out(r, CLA_E_INPUT));
    }
    return CLA_OK;
}

/* ---- older versions ------------------------------------------------------------ */

static cla_status note_version(report *r, const report_file *f, int number,
                               const char *version)
{
    return cli_report_note(r,
                           "%s:%d: written by clattn %.40s, read by %s: only keys that "
                           "this version knows are shown",
                           f->path, number, version, cla_version());
}

static cla_status note_no_samples(report *r, const report_file *f, int number)
{
    return cli_report_note(
        r,
        "%s:%d: no samples (of an older version or another program): "
        "quartiles are shown in their place",
        f->path, number);
}

/* Notes the first line of another version, and the first line without samples. */
static cla_status note_versions(report *r, const report_file *f)
{
    bool other = false, bare = false;
    for (size_t i = 0; i < f->count; i++) {
        const json_t *row = f->results.rows[i].object;
        const char *version = json_string_value(json_object_get(row, "version"));
        if (!other && version && strcmp(version, cla_version()) != 0) {
            other = true;
            CLA_TRY(note_version(r, f, f->line[i].number, version));
        }
        if (!bare && !has(row, "samples_ms")) {
            bare = true;
            CLA_TRY(note_no_samples(r, f, f->line[i].number));
        }
    }
    return CLA_OK;
}

/* Notes rows that another row of the file repeats. */
static cla_status note_repeats(report *r, const report_file *f)
{
    cla_text text = { 0 };
    cla_status status = bench_repeated_text(&f->results, &text);
    if (!status && text.size) {
        cla_log(CLA_LOG_WARN, "%s", text.data);
        status = cli_report_note(r, "%s", text.data);
    }
    cla_text_free(&text);
    return status;
}

static cla_status note_results(report *r, const report_file *f)
{
    CLA_TRY(note_versions(r, f));
    return note_repeats(r, f);
}

/* ---- one file ------------------------------------------------------------------ */

/* Sets the name of the log; that of a folder is its log.jsonl. */
static cla_status find_log(report_file *f)
{
    cla_os_info info;
    const bool folder = cla_os_info_of(f->path, &info) && info.kind == CLA_OS_FOLDER;
    CLA_TRY(cla_text_add(&f->log, "%s%s", f->path, folder ? "/log.jsonl" : ""));
    f->kind = folder ? REPORT_RUN : REPORT_NOTHING;
    f->results.path = f->log.data;
    return CLA_OK;
}

static cla_status read_run(report *r, report_file *f)
{
    cla_text folder = { 0 };
    cla_status status = cla_text_add(&folder, "%s", f->log.data);
    if (!status) {
        char *slash = cla_os_last_slash(folder.data);
        if (slash) {
            slash[slash == folder.data] = '\0';
        }
        status = cli_report_read_run(r, f, slash ? folder.data : ".");
    }
    cla_text_free(&folder);
    return status;
}

static cla_status read_file(report *r, report_file *f)
{
    cla_scan scan = { 0 };
    const cla_status status = cla_scan_file(&scan, f->log.data, CLA_SOURCE_PIPE);
    f->data = scan.data;
    if (status) {
        f->kind = REPORT_NOTHING;
        return cli_report_leave_out(r, status);
    }
    CLA_TRY(take_lines(r, f, &scan));
    if (!f->count) {
        f->kind = REPORT_NOTHING;
        cla_fail(CLA_E_INPUT, "%s: holds no results", f->log.data);
        return f->refused ? CLA_OK : cli_report_leave_out(r, CLA_E_INPUT);
    }
    switch (f->kind) {
    case REPORT_RUN:
        return read_run(r, f);
    case REPORT_BENCH:
        return note_results(r, f);
    default:
        return CLA_OK;
    }
}

cla_status cli_report_read(report *r, const char *path)
{
    report_file *f = &r->file[r->count++];
    f->path = path;
    CLA_TRY(find_log(f));
    return read_file(r, f);
}

static void fini_file(report_file *f)
{
    bench_results_fini(&f->results);
    json_decref(f->config);
    for (size_t i = 0; i < f->map_count; i++) {
        free(f->map[i].name);
        free(f->map[i].svg);
    }
    free(f->map);
    free(f->line);
    free(f->data);
    cla_text_free(&f->log);
}

void cli_report_fini(report *r)
{
    for (int i = 0; i < r->count; i++) {
        fini_file(&r->file[i]);
    }
    json_decref(r->notes);
    *r = (report){ 0 };
}
