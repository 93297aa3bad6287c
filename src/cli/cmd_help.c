/* cmd_help.c - clattn help: prints help texts and completions, writes manual pages. */
#include <stdio.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/pages.h"

typedef struct arguments {
    const char *pages, *shell;
    cli_words words;
} arguments;

static const cli_option options[] = {
    { "man-pages", 'm', "DIR", "write the manual pages of all commands to DIR",
      CLI_TEXT, .at = offsetof(arguments, pages), .output = CLI_OUT_FOLDER },
    { "completion", 'c', "SHELL", "print the completion for bash, zsh or fish",
      CLI_TEXT, .at = offsetof(arguments, shell), .choices = "bash zsh fish" },
    { 0 },
};

const cli_usage cli_help_usage = {
    .options = options,
    .words = "[COMMAND [VERB]]",
    .words_at = offsetof(arguments, words),
    .most = 2,
    .about = "Prints the help of a command: clattn help tag is clattn tag --help.",
    .more = "  clattn help score bleu\n"
            "  clattn help --completion bash > ~/.local/share/bash-completion/"
            "completions/clattn",
};

static void print(const cla_text *text)
{
    fwrite(text->data, 1, text->size, stdout); // cli_finish checks for errors
}

static cla_status print_help(const cli_words *words)
{
    const cli_usage *usage = &cli_top_usage;
    cla_text name = { 0 }, text = { 0 };
    cla_status status = cla_text_add(&name, "clattn");
    for (int i = 0; i < words->count && !status; i++) {
        const cli_command *v = cli_find_command(usage, words->word[i]);
        status = v ? cla_text_add(&name, " %s", v->name)
                   : cli_no_command(usage, words->word[i]);
        usage = v ? v->usage : usage;
    }
    status = status ? status : cli_help_text(name.data, usage, &text);
    if (!status) {
        print(&text);
    }
    cla_text_free(&name);
    cla_text_free(&text);
    return status;
}

/* Writes a manual page: that of "clattn tag" is DIR/clattn-tag.1. */
static cla_status write_page(const char *dir, const char *name, const char *summary,
                             const cli_usage *usage)
{
    cla_text page = { 0 }, path = { 0 };
    cla_status status = cla_text_add(&path, "%s/", dir);
    for (const char *c = name; *c && !status; c++) {
        status = cla_text_add(&path, "%c", *c == ' ' ? '-' : *c);
    }
    status = status ? status : cla_text_add(&path, ".1");
    status = status ? status : cli_manual_page(name, summary, usage, &page);
    status = status ? status : cla_file_write(path.data, page.data, page.size);
    cla_text_free(&page);
    cla_text_free(&path);
    return status;
}

static cla_status write_pages(const char *dir)
{
    CLA_TRY(cla_folder_make(dir));
    CLA_TRY(
        write_page(dir, "clattn", "train and run attention networks", &cli_top_usage));
    for (const cli_command *v = cli_top_usage.verbs; v->name; v++) {
        char name[64];
        snprintf(name, sizeof name, "clattn %s", v->name);
        CLA_TRY(write_page(dir, name, v->summary, v->usage));
        for (const cli_command *w = v->usage->verbs; w && w->name; w++) {
            char inner[96];
            snprintf(inner, sizeof inner, "%s %s", name, w->name);
            CLA_TRY(write_page(dir, inner, w->summary, w->usage));
        }
    }
    return CLA_OK;
}

static cla_status print_completion(const char *shell)
{
    cla_text text = { 0 };
    const cla_status status = cli_completion(shell, &cli_top_usage, &text);
    if (!status) {
        print(&text);
    }
    cla_text_free(&text);
    return status;
}

int cli_help(int argc, char **argv)
{
    arguments a = { 0 };
    cla_status status = cli_read(&cli_help_usage, argc, argv, &a);
    if (!status) {
        status = a.pages   ? write_pages(a.pages)
                 : a.shell ? print_completion(a.shell)
                           : print_help(&a.words);
    }
    return status ? cli_fail(status) : CLI_OK;
}
