/* cmd_report.c - clattn report: writes results and runs as one page of HTML. */
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/report.h"

typedef struct arguments {
    const char *out, *provider;
    cli_words files;
} arguments;

static const cli_option options[] = {
    { "out", 'o', "FILE", "an .html file", CLI_TEXT, .at = offsetof(arguments, out),
      .needed = true, .output = CLI_OUT_FILE },
    { "provider", 'p', "P",
      "compare P where a file has it for a case (default: the faster of tile and "
      "group, or the fastest of another framework's)",
      CLI_TEXT, .at = offsetof(arguments, provider) },
    { 0 },
};

static cla_status check(const void *arguments_)
{
    const char *out = ((const arguments *)arguments_)->out;
    const bool bare =
        out[0] == '.' && !strchr(out + 1, '.'); // a name that is only a suffix
    return !bare && (cla_ends_in(out, ".html") || cla_ends_in(out, ".htm"))
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "report: --out is '%s', must end in .html", out);
}

const cli_usage cli_report_usage = {
    .options = options,
    .words = "A.json [B.json...]\nDIR...",
    .words_at = offsetof(arguments, files),
    .least = 1,
    .most = REPORT_FILES,
    .lacks = "files of clattn bench --json or verify --json, or folders of runs",
    .check = check,
    .about =
        "Writes one page of HTML about results of `clattn bench --json', those of "
        "`clattn verify --json', and training runs (folders, or their log.jsonl): "
        "machines and commands, a roofline, every "
        "sample, the first file against each other one, learning curves, scores, and "
        "settings that differ. The page needs no network and holds the data. A line "
        "that cannot be used is named, and the rest is shown; the exit status is then "
        "3, or 6 for a file that cannot be read.",
    .more = "  clattn report a.json --out a.html\n"
            "  clattn report before.json after.json --out compared.html\n"
            "  clattn report runs/conv runs/conv2d --out runs.html",
};

/* ---- notes --------------------------------------------------------------------- */

static cla_status add_note(report *r, const char *text, bool left_out)
{
    json_t *note = json_object();
    const bool failed = !note ||
                        json_object_set_new(note, "text", cli_json_text(text)) ||
                        json_object_set_new(note, "left_out", json_boolean(left_out)) ||
                        json_array_append(r->notes, note);
    json_decref(note);
    return failed ? cla_fail(CLA_E_NOMEM, "report: out of memory") : CLA_OK;
}

cla_status cli_report_leave_out(report *r, cla_status why)
{
    if (why == CLA_E_NOMEM) {
        return why;
    }
    r->first = r->first ? r->first : why;
    return add_note(r, cla_error(), true);
}

cla_status cli_report_note(report *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return add_note(r, text, false);
}

static const char *text_of_note(const report *r, size_t i)
{
    return json_string_value(json_object_get(json_array_get(r->notes, i), "text"));
}

static bool is_left_out(const report *r, size_t i)
{
    return json_is_true(json_object_get(json_array_get(r->notes, i), "left_out"));
}

static void warn(const report *r)
{
    for (size_t i = 0; i < json_array_size(r->notes); i++) {
        if (is_left_out(r, i)) {
            cla_log(CLA_LOG_WARN, "%s", text_of_note(r, i));
        }
    }
}

/* ---- the command --------------------------------------------------------------- */

/* Fails with the first reason for something left out, since nothing can be shown. */
static cla_status fail_empty(const report *r)
{
    for (size_t i = 0; i < json_array_size(r->notes); i++) {
        if (is_left_out(r, i)) {
            return cla_fail(r->first, "%s", text_of_note(r, i));
        }
    }
    return cla_fail(CLA_E_INPUT, "%s: holds no results", r->file[0].path);
}

static cla_status read_all(report *r, const arguments *a)
{
    bool any = false;
    r->notes = json_array();
    CLA_TRY(r->notes ? CLA_OK : cla_fail(CLA_E_NOMEM, "report: out of memory"));
    for (int i = 0; i < a->files.count; i++) {
        CLA_TRY(cli_report_read(r, a->files.word[i]));
        any = any || r->file[i].kind != REPORT_NOTHING;
    }
    return any ? CLA_OK : fail_empty(r);
}

static cla_status write_report(report *r, const arguments *a)
{
    cla_text page = { 0 };
    CLA_TRY(read_all(r, a));
    cla_status status = cli_report_page(r, &page);
    status = status ? status : cla_file_write(a->out, page.data, page.size);
    cla_text_free(&page);
    warn(r);
    return status;
}

static cla_status write_command(cla_text *line, int argc, char **argv)
{
    CLA_TRY(cla_text_add(line, "clattn report"));
    for (int i = 1; i < argc; i++) {
        CLA_TRY(cla_text_add_word(line, argv[i]));
    }
    return CLA_OK;
}

int cli_report(int argc, char **argv)
{
    arguments a = { 0 };
    report r = { 0 };
    cla_text command = { 0 };
    cla_status status = write_command(&command, argc, argv); // cli_read reorders argv
    status = status ? status : cli_read(&cli_report_usage, argc, argv, &a);
    r.provider = a.provider;
    r.command = command.data;
    status = status ? status : write_report(&r, &a);
    const int code = status ? cli_fail_data(status) : (int)r.first;
    cli_report_fini(&r);
    cla_text_free(&command);
    return code;
}
