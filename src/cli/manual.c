/* manual.c - writes a command's manual page. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/pages.h"

/* Appends text with roff's special characters escaped. */
static cla_status add_escaped(const char *text, size_t size, cla_text *out)
{
    for (size_t i = 0; i < size; i++) {
        const char *escape = text[i] == '\\' ? "\\e" : text[i] == '-' ? "\\-" : NULL;
        CLA_TRY(escape ? cla_text_add(out, "%s", escape)
                       : cla_text_append(out, text + i, 1));
    }
    return CLA_OK;
}

/* Appends a line of text, which is no request of roff even after a dot or quote. */
static cla_status add_plain(const char *text, size_t size, cla_text *out)
{
    if (size && (*text == '.' || *text == '\'')) {
        CLA_TRY(cla_text_add(out, "\\&"));
    }
    CLA_TRY(add_escaped(text, size, out));
    return cla_text_append(out, "\n", 1);
}

/* Appends paragraphs; lines that begin with a blank are not filled. */
static cla_status add_text(const char *text, cla_text *out)
{
    bool filled = true;
    while (*text) {
        const size_t size = strcspn(text, "\n");
        const bool fill = *text != ' ';
        if (fill != filled) {
            CLA_TRY(cla_text_add(out, fill ? ".fi\n" : ".PP\n.nf\n"));
        } else if (!size) {
            CLA_TRY(cla_text_add(out, ".PP\n"));
        }
        CLA_TRY(size ? add_plain(text, size, out) : CLA_OK);
        filled = fill;
        text += size + (text[size] == '\n');
    }
    return filled ? CLA_OK : cla_text_add(out, ".fi\n");
}

static cla_status add_option(const cli_option *o, cla_text *out)
{
    CLA_TRY(cla_text_add(out, ".TP\n"));
    if (o->key) {
        CLA_TRY(cla_text_add(out, "\\fB\\-%c\\fR, ", o->key));
    }
    CLA_TRY(cla_text_add(out, "\\fB\\-\\-"));
    CLA_TRY(add_escaped(o->name, strlen(o->name), out));
    CLA_TRY(cla_text_add(out, "\\fR%s%s%s\n", o->value ? "=\\fI" : "",
                         o->value ? o->value : "", o->value ? "\\fR" : ""));
    cla_text help = { 0 };
    cla_status status = cli_option_help(o, &help);
    status = status ? status : add_plain(help.data, help.size, out);
    cla_text_free(&help);
    return status;
}

static cla_status add_options(const cli_usage *u, cla_text *out)
{
    const cli_option help = { .name = "help",
                              .key = cli_help_key(u),
                              .help = "print a help text" };
    const cli_option version = { .name = "version",
                                 .key = 'V',
                                 .help = "print the version" };
    CLA_TRY(cla_text_add(out, ".SH OPTIONS\n"));
    for (const cli_option *o = u->options; o && o->name; o++) {
        CLA_TRY(o->help ? add_option(o, out) : CLA_OK);
    }
    CLA_TRY(add_option(&help, out));
    return add_option(&version, out);
}

static cla_status add_synopsis(const char *name, const cli_usage *u, cla_text *out)
{
    const char *form = u->words ? u->words : "";
    CLA_TRY(cla_text_add(out, ".SH SYNOPSIS\n"));
    for (bool more = true; more;) {
        const size_t size = strcspn(form, "\n");
        CLA_TRY(cla_text_add(out, ".B %s\n", name));
        CLA_TRY(cla_text_add(out, "[\\fIOPTION\\fR...] "));
        CLA_TRY(add_plain(form, size, out));
        more = form[size] == '\n';
        CLA_TRY(more ? cla_text_add(out, ".br\n") : CLA_OK);
        form += size + more;
    }
    return CLA_OK;
}

static cla_status add_verbs(const char *page, const cli_usage *u, cla_text *out)
{
    CLA_TRY(cla_text_add(out, ".SH COMMANDS\n"));
    for (const cli_command *v = u->verbs; v->name; v++) {
        CLA_TRY(cla_text_add(out, ".TP\n.BR %s\\-%s (1)\n", page, v->name));
        CLA_TRY(add_plain(v->summary, strlen(v->summary), out));
    }
    return CLA_OK;
}

cla_status cli_manual_page(const char *name, const char *summary,
                           const cli_usage *usage, cla_text *out)
{
    char page[64], title[64];
    snprintf(page, sizeof page, "%s", name);
    for (char *c = page; *c; c++) {
        *c = *c == ' ' ? '-' : *c;
    }
    for (size_t i = 0; i < sizeof title; i++) {
        title[i] = (char)toupper((unsigned char)page[i]);
        if (!page[i]) break;
    }
    CLA_TRY(cla_text_add(out, ".TH %s 1 \"\" \"clattn %s\" \"User commands\"\n", title,
                         cla_version()));
    CLA_TRY(cla_text_add(out, ".SH NAME\n%s \\- ", page));
    CLA_TRY(add_plain(summary, strlen(summary), out));
    CLA_TRY(add_synopsis(name, usage, out));
    CLA_TRY(cla_text_add(out, ".SH DESCRIPTION\n"));
    CLA_TRY(add_text(usage->about, out));
    CLA_TRY(add_options(usage, out));
    if (usage->verbs) {
        CLA_TRY(add_verbs(page, usage, out));
    }
    if (usage->more) {
        CLA_TRY(cla_text_add(out, ".SH NOTES\n"));
        CLA_TRY(add_text(usage->more, out));
    }
    return cla_text_add(out, ".SH SEE ALSO\n.BR clattn (1)\n");
}
