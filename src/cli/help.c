/* help.c - writes the text of --help from the table of options. */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

enum { WIDTH = 79, TEXT_COLUMN = 29 };

char cli_help_key(const cli_usage *usage)
{
    for (const cli_option *o = usage->options; o && o->name; o++) {
        if (o->key == 'h') return '\0';
    }
    return 'h';
}

static cla_status start_line(int indent, cla_text *out)
{
    return cla_text_add(out, "\n%*s", indent, "");
}

cla_status cli_wrap(const char *text, int column, int indent, int width, cla_text *out)
{
    bool first = true;
    while (*text) {
        const int size = (int)strcspn(text, " \n");
        if (!first && column + 1 + size > width) {
            CLA_TRY(start_line(indent, out));
            column = indent;
            first = true;
        }
        CLA_TRY(cla_text_add(out, "%s%.*s", first ? "" : " ", size, text));
        column += size + !first;
        first = false;
        text += size;
        for (; *text == ' ' || *text == '\n'; text++) {
            if (*text == '\n' && text[1]) { // a new paragraph
                CLA_TRY(start_line(indent, out));
                column = indent;
                first = true;
            }
        }
    }
    return CLA_OK;
}

/* Appends paragraphs; lines that begin with a blank are not wrapped. */
static cla_status add_paragraphs(const char *text, cla_text *out)
{
    while (*text) {
        const char *end = strchr(text, '\n');
        const int size = end ? (int)(end - text) : (int)strlen(text);
        if (*text == ' ' || !size) {
            CLA_TRY(cla_text_add(out, "%.*s", size, text));
        } else {
            cla_text line = { 0 };
            cla_status status = cla_text_append(&line, text, (size_t)size);
            status = status ? status : cli_wrap(line.data, 0, 0, WIDTH, out);
            cla_text_free(&line);
            CLA_TRY(status);
        }
        CLA_TRY(cla_text_append(out, "\n", 1));
        text += size + (end != NULL);
    }
    return CLA_OK;
}

static cla_status add_row(char key, const char *name, const char *value,
                          const char *help, cla_text *out)
{
    const size_t start = out->size;
    CLA_TRY(key ? cla_text_add(out, "  -%c, ", key) : cla_text_add(out, "      "));
    CLA_TRY(cla_text_add(out, "--%s%s%s", name, value ? "=" : "", value ? value : ""));
    const int used = (int)(out->size - start);
    CLA_TRY(used + 1 < TEXT_COLUMN ? cla_text_add(out, "%*s", TEXT_COLUMN - used, "")
                                   : start_line(TEXT_COLUMN, out));
    CLA_TRY(cli_wrap(help, TEXT_COLUMN, TEXT_COLUMN, WIDTH, out));
    return cla_text_append(out, "\n", 1);
}

cla_status cli_option_help(const cli_option *o, cla_text *out)
{
    CLA_TRY(cla_text_add(out, "%s", o->help));
    for (const char *at = o->names ? o->names() : ""; *at;) {
        const int size = (int)strcspn(at, " ");
        CLA_TRY(cla_text_add(out, "%s%.*s", at == o->names() ? ": " : ", ", size, at));
        at += size + (at[size] == ' ');
    }
    return CLA_OK;
}

static cla_status add_option(const cli_option *o, cla_text *out)
{
    cla_text help = { 0 };
    cla_status status = cli_option_help(o, &help);
    status = status ? status : add_row(o->key, o->name, o->value, help.data, out);
    cla_text_free(&help);
    return status;
}

static cla_status add_options(const cli_usage *u, cla_text *out)
{
    for (const cli_option *o = u->options; o && o->name; o++) {
        CLA_TRY(o->help ? add_option(o, out) : CLA_OK);
    }
    CLA_TRY(add_row(cli_help_key(u), "help", NULL, "print this help", out));
    return add_row('V', "version", NULL, "print the version", out);
}

/* Appends a line for each form of the command's words. */
static cla_status add_usage(const char *command, const cli_usage *u, cla_text *out)
{
    const char *form = u->words ? u->words : "";
    for (const char *lead = "Usage:"; form; lead = "  or: ") {
        const char *end = strchr(form, '\n');
        const int size = end ? (int)(end - form) : (int)strlen(form);
        CLA_TRY(cla_text_add(out, "%s %s [OPTION...]%s%.*s\n", lead, command,
                             size ? " " : "", size, form));
        form = end ? end + 1 : NULL;
    }
    return CLA_OK;
}

cla_status cli_help_text(const char *command, const cli_usage *usage, cla_text *out)
{
    CLA_TRY(add_usage(command, usage, out));
    CLA_TRY(add_paragraphs(usage->about, out));
    CLA_TRY(cla_text_append(out, "\n", 1));
    CLA_TRY(add_options(usage, out));
    if (usage->more) {
        CLA_TRY(cla_text_append(out, "\n", 1));
        CLA_TRY(add_paragraphs(usage->more, out));
    }
    for (const cli_command *v = usage->verbs; v && v->name; v++) {
        CLA_TRY(cla_text_add(out, "%s  %-10s %s\n",
                             v == usage->verbs ? "\nCommands:\n" : "", v->name,
                             v->summary));
    }
    return CLA_OK;
}
