/* report_runs.c - writes training runs as JSON: logs, settings, pictures. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/platform.h"
#include "cli/cli.h"
#include "cli/report.h"

enum {
    LOSSES = 2000,        // lines with a loss of a run; more are thinned out
    MAP_BYTES = 96 << 10, // most bytes of a picture
    MAPS = 4,             // most pictures of a run
};

/* ---- settings ------------------------------------------------------------------ */

static cla_status read_config(report *r, report_file *f, const char *path)
{
    if (!cla_os_may(path, CLA_MAY_BE)) {
        return cli_report_note(r, "%s: no settings beside it (config.json)", f->path);
    }
    cla_status status =
        cla_json_file(&f->config, path, CLA_SOURCE_FILE, JSON_REJECT_DUPLICATES);
    if (!status && !json_is_object(f->config)) {
        json_decref(f->config);
        f->config = NULL;
        status = cla_fail(CLA_E_INPUT, "%s:1: no object of settings", path);
    }
    return status ? cli_report_leave_out(r, status) : CLA_OK;
}

/* ---- pictures ------------------------------------------------------------------ */

static cla_status add_map(report *r, report_file *f, const char *path, const char *name)
{
    report_map map = { 0 };
    cla_os_info info;
    if (!cla_os_info_of(path, &info) || info.kind != CLA_OS_FILE) {
        return CLA_OK;
    }
    if (f->map_count == MAPS || info.size > MAP_BYTES) {
        return cli_report_note(r, "%s: not shown: %s", path,
                               f->map_count == MAPS ? "the run has others"
                                                    : "above 96 KiB");
    }
    CLA_TRY(cla_grow(&f->map, &f->map_cap, f->map_count + 1, sizeof *f->map));
    cla_status status = cla_file_read(path, &map.svg, &map.size);
    if (status) {
        return cli_report_leave_out(r, status);
    }
    status = cla_strdup(&map.name, name);
    if (status) {
        free(map.svg);
        return status;
    }
    f->map[f->map_count++] = map;
    return CLA_OK;
}

static cla_status read_maps(report *r, report_file *f, const char *folder)
{
    char **name = NULL;
    size_t count = 0;
    cla_text path = { 0 };
    cla_status status = cla_folder_names(folder, &name, &count);
    status = status == CLA_E_IO ? CLA_OK : status; // a log without its folder
    for (size_t i = 0; i < count && !status; i++) {
        if (name[i][0] == '.' || !cla_ends_in(name[i], ".svg")) {
            continue;
        }
        path.size = 0;
        status = cla_text_add(&path, "%s/%s", folder, name[i]);
        status = status ? status : add_map(r, f, path.data, name[i]);
    }
    cla_folder_list_free(&name, count);
    cla_text_free(&path);
    return status;
}

cla_status cli_report_read_run(report *r, report_file *f, const char *folder)
{
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/config.json", folder);
    status = status ? status : read_config(r, f, path.data);
    cla_text_free(&path);
    return status ? status : read_maps(r, f, folder);
}

/* ---- as JSON ------------------------------------------------------------------- */

/* Appends the log; of more losses than a curve can show, every n-th and the last. */
static cla_status add_log(cla_text *out, report *r, const report_file *f)
{
    size_t losses = 0, shown = 0, seen = 0;
    for (size_t i = 0; i < f->count; i++) {
        losses += !f->line[i].scores;
    }
    const size_t step = (losses + LOSSES - 1) / LOSSES;
    for (size_t i = 0; i < f->count; i++) {
        const report_line *l = &f->line[i];
        if (!l->scores && seen++ % step && seen != losses) {
            continue;
        }
        CLA_TRY(cla_text_add(out, "%s", shown++ ? ",\n" : "\n"));
        CLA_TRY(cla_text_append(out, l->text, l->size));
    }
    return step > 1 ? cli_report_note(r, "%s: %zu of %zu lines with a loss are shown",
                                      f->path, shown - (f->count - losses), losses)
                    : CLA_OK;
}

static cla_status add_maps(cla_text *out, report *r, const report_file *f)
{
    int shown = 0;
    for (size_t i = 0; i < f->map_count; i++) {
        const report_map *m = &f->map[i];
        json_t *svg = json_stringn(m->svg, m->size);
        if (!svg) {
            CLA_TRY(
                cli_report_note(r, "%s: %s is not shown: not UTF-8", f->path, m->name));
            continue;
        }
        CLA_TRY(cla_text_add(out, "%s", shown++ ? "," : ""));
        CLA_TRY(cli_report_json(
            out, json_pack("{so so}", "name", cli_json_text(m->name), "svg", svg)));
    }
    return CLA_OK;
}

static cla_status add_run(cla_text *out, report *r, const report_file *f)
{
    CLA_TRY(cla_text_add(out, "{\"file\":"));
    CLA_TRY(cli_report_json(out, cli_json_text(f->path)));
    CLA_TRY(cla_text_add(out, ",\"config\":"));
    CLA_TRY(cli_report_json(out, f->config ? json_incref(f->config) : json_null()));
    CLA_TRY(cla_text_add(out, ",\"log\":["));
    CLA_TRY(add_log(out, r, f));
    CLA_TRY(cla_text_add(out, "],\"maps\":["));
    CLA_TRY(add_maps(out, r, f));
    return cla_text_add(out, "]}");
}

cla_status cli_report_runs(report *r, cla_text *out)
{
    bool any = false;
    CLA_TRY(cla_text_add(out, "\"runs\":["));
    for (int i = 0; i < r->count; i++) {
        if (r->file[i].kind == REPORT_RUN) {
            CLA_TRY(cla_text_add(out, "%s", any ? ",\n" : "\n"));
            CLA_TRY(add_run(out, r, &r->file[i]));
            any = true;
        }
    }
    return cla_text_add(out, "]");
}
