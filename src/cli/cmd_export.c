/* cmd_export.c - clattn export: a model without what only training needs. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/signals.h"
#include "train/export.h"

typedef struct arguments {
    const char *run, *out;
    bool half;
} arguments;

static const struct argp_option options[] = {
    { "model", 'm', "DIR", 0, "folder of a training run", 0 },
    { "half", 'h', 0, 0, "store weights as numbers of 16 bits", 0 },
    { "out", 'o', "DIR", 0, "the new model's folder", 0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'm':
        a->run = value;
        return 0;
    case 'h':
        a->half = true;
        return 0;
    case 'o':
        a->out = value;
        return 0;
    case ARGP_KEY_END:
        if (!a->run || !a->out) {
            cla_fail(CLA_E_USAGE, "export needs --model DIR and --out DIR (see clattn "
                                  "export --help)");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_export(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Writes a folder with the best state of a run and what using it needs: "
               "a third of the run's size, a sixth with --half.\v"
               "  clattn export --model runs/m --half --out small\n"
               "  clattn translate --model small < test.en",
    };
    arguments a = { 0 };
    int64_t numbers = 0;
    cla_status status = cli_parse(&argp, argc, argv, &a);
    status = status ? status
                    : cla_export(a.run, a.half, a.out, cli_catch_signals(), &numbers);
    if (cli_signal_code()) {
        return cli_signal_code();
    }
    if (status) {
        return cli_fail_data(status);
    }
    fprintf(stderr, "%lld numbers in %s\n", (long long)numbers, a.out);
    return CLI_OK;
}
