/* report_verify.c - writes verifications as JSON for the page. */
#include "cli/cli.h"
#include "cli/report.h"

static cla_status add_file(cla_text *out, const report_file *f)
{
    CLA_TRY(cla_text_add(out, "{\"file\":"));
    CLA_TRY(cli_report_json(out, cli_json_text(f->path)));
    CLA_TRY(cla_text_add(out, ",\"rows\":["));
    for (size_t i = 0; i < f->count; i++) {
        CLA_TRY(cla_text_add(out, "%s", i ? ",\n" : "\n"));
        CLA_TRY(cla_text_append(out, f->line[i].text, f->line[i].size));
    }
    return cla_text_add(out, "]}");
}

cla_status cli_report_verify(report *r, cla_text *out)
{
    bool any = false;
    CLA_TRY(cla_text_add(out, "\"verify\":["));
    for (int i = 0; i < r->count; i++) {
        if (r->file[i].kind == REPORT_VERIFY) {
            CLA_TRY(cla_text_add(out, "%s", any ? ",\n" : "\n"));
            CLA_TRY(add_file(out, &r->file[i]));
            any = true;
        }
    }
    return cla_text_add(out, "]");
}
