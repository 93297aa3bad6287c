/* cmd_check.c - clattn check: checks the files of a model's folder by their hashes. */
#include <errno.h>
#include <stdio.h>

#include "cli/cli.h"
#include "train/check.h"

typedef struct arguments {
    cli_words dir; // one
    bool json;
} arguments;

static const cli_option options[] = {
    CLI_JSON(arguments, json),
    { 0 },
};

const cli_usage cli_check_usage = {
    .options = options,
    .words = "DIR",
    .words_at = offsetof(arguments, dir),
    .least = 1,
    .most = 1,
    .lacks = "a folder",
    .about = "Compares every file of a run's or model's folder with the hash that was "
             "written with it, and the states' numbers with what a run can hold.",
    .more =
        "Exits with 0 when all files are whole, else with the status of the first bad "
        "one: 3 for damage, 6 for a file that cannot be read, 7 for weights that are "
        "not finite.\n\n"
        "  clattn check runs/t",
};

static void print_line(void *context, const char *verdict, const char *name,
                       const char *what)
{
    const arguments *a = context;
    if (!a->json) {
        printf("%-11s %-34s %s\n", verdict, name, what);
        return;
    }
    json_t *object = json_object();
    int failed = json_object_set_new(object, "file", cli_json_text(name));
    failed |= json_object_set_new(object, "verdict", json_string(verdict));
    failed |= json_object_set_new(object, "detail", cli_json_text(what));
    if (failed) {
        json_decref(object);
        object = NULL;
    }
    if (cli_print_json(object)) {
        printf("{\"verdict\":\"%s\"}\n", verdict);
    }
}

int cli_check(int argc, char **argv)
{
    arguments a = { 0 };
    int bad = 0;
    const cla_status status = cli_read(&cli_check_usage, argc, argv, &a);
    if (status) {
        return cli_fail(status);
    }
    const char *dir = a.dir.word[0];
    const cla_status found = cla_folder_check(dir, print_line, &a, &bad);
    if (found && bad) {
        cla_fail(found, "%s: %d bad file%s", dir, bad, bad > 1 ? "s" : "");
    }
    return found ? cli_fail_data(found) : CLI_OK;
}
