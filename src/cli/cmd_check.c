/* cmd_check.c - clattn check: the files of a model's folder against their hashes. */
#include <errno.h>
#include <stdio.h>

#include "cli/cli.h"
#include "train/check.h"

typedef struct arguments {
    const char *dir;
    bool json;
} arguments;

static const struct argp_option options[] = {
    { "json", 'j', NULL, 0, "print JSON, an object a line", 0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'j':
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (a->dir) {
            return ARGP_ERR_UNKNOWN;
        }
        a->dir = value;
        return 0;
    case ARGP_KEY_END:
        if (!a->dir) {
            cla_fail(CLA_E_USAGE, "check needs a folder (see clattn check --help)");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "DIR",
        .doc =
            "Compares every file of a run's or model's folder with the hash that was "
            "written with it, and the states' numbers with what a run can hold.\v"
            "Exits with 0 when all files are whole, else with the status of the first "
            "bad one: 3 for damage, 6 for a file that cannot be read, 7 for weights "
            "that are not finite.\n\n"
            "  clattn check runs/t",
    };
    arguments a = { 0 };
    int bad = 0;
    const cla_status status = cli_parse(&argp, argc, argv, &a);
    if (status) {
        return cli_fail(status);
    }
    const cla_status found = cla_folder_check(a.dir, print_line, &a, &bad);
    if (found && bad) {
        cla_fail(found, "%s: %d bad file%s", a.dir, bad, bad > 1 ? "s" : "");
    }
    return found ? cli_fail_data(found) : CLI_OK;
}
