/* report_page.c - writes the page of `clattn report': style, script and data in one
 * file.
 *
 * All text from files goes into one block of JSON, in which "<" is written "\\u003c".
 * Thus no such text can end the block, and the page's script inserts it into the
 * document only as text. */
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/report.h"
#include "commit.h"

cla_status cli_report_json(cla_text *out, json_t *value)
{
    char *text =
        value ? cla_json_write(value, JSON_COMPACT | JSON_ENCODE_ANY, 10) : NULL;
    json_decref(value);
    const cla_status status = text ? cla_text_add(out, "%s", text)
                                   : cla_fail(CLA_E_NOMEM, "report: out of memory");
    free(text);
    return status;
}

/* Appends JSON with "<" escaped, which occurs in strings only. */
static cla_status add_without_tags(cla_text *out, const char *json)
{
    for (const char *at = json; *at;) {
        const size_t plain = strcspn(at, "<");
        CLA_TRY(cla_text_append(out, at, plain));
        at += plain;
        if (*at) {
            CLA_TRY(cla_text_add(out, "\\u003c"));
            at++;
        }
    }
    return CLA_OK;
}

/* Appends the data. The notes come last: writing the other parts may add some. */
static cla_status write_data(report *r, cla_text *out)
{
    CLA_TRY(cla_text_add(out, "{\"version\":"));
    CLA_TRY(cli_report_json(out, json_string(cla_version())));
    CLA_TRY(cla_text_add(out, ",\"commit\":"));
    CLA_TRY(cli_report_json(out, cli_json_text(CLATTN_COMMIT)));
    CLA_TRY(cla_text_add(out, ",\"command\":"));
    CLA_TRY(cli_report_json(out, cli_json_text(r->command)));
    CLA_TRY(cla_text_add(out, ",\n"));
    CLA_TRY(cli_report_bench(r, out));
    CLA_TRY(cla_text_add(out, ",\n"));
    CLA_TRY(cli_report_verify(r, out));
    CLA_TRY(cla_text_add(out, ",\n"));
    CLA_TRY(cli_report_runs(r, out));
    CLA_TRY(cla_text_add(out, ",\n\"notes\":"));
    CLA_TRY(cli_report_json(out, json_incref(r->notes)));
    return cla_text_add(out, "}");
}

static cla_status add_data(report *r, cla_text *out)
{
    cla_text data = { 0 };
    cla_status status = write_data(r, &data);
    status = status ? status : add_without_tags(out, data.data);
    cla_text_free(&data);
    return status;
}

static const char *text_named(const char *name, size_t size)
{
    const report_page_file *f = report_page_files;
    while (f->name && (strlen(f->name) != size || memcmp(f->name, name, size) != 0)) {
        f++;
    }
    return (const char *)f->text;
}

/* Copies page.html and replaces each "{{name}}" by the file of that name, or by the
 * data where there is no such file. */
cla_status cli_report_page(report *r, cla_text *out)
{
    static const char page[] = "page.html";
    const char *at = text_named(page, sizeof page - 1);
    for (const char *open; (open = strstr(at, "{{"));) {
        const char *name = open + 2, *close = strstr(name, "}}");
        const size_t size = (size_t)(close - name);
        const char *text = text_named(name, size);
        CLA_TRY(cla_text_append(out, at, (size_t)(open - at)));
        CLA_TRY(text ? cla_text_add(out, "%s", text) : add_data(r, out));
        at = close + 2;
    }
    return cla_text_add(out, "%s", at);
}
