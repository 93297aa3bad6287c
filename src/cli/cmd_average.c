/* cmd_average.c - clattn average: a model from the states that runs kept. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/signals.h"
#include "train/average.h"

enum { MAX_RUNS = 64, MAX_STATES = 1 << 20 };

typedef struct arguments {
    const char *run[MAX_RUNS], *out;
    int runs, last;
} arguments;

static const struct argp_option options[] = {
    { "model", 'm', "DIR", 0,
      "folder of a training run; several: the states of all of them", 0 },
    { "last", 'n', "N", 0, "the newest N states of each run (default: all it keeps)",
      0 },
    { "out", 'o', "DIR", 0, "the new model's folder", 0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'm':
        if (a->runs == MAX_RUNS) {
            cla_fail(CLA_E_USAGE, "--model: more than %d", MAX_RUNS);
            return EINVAL;
        }
        a->run[a->runs++] = value;
        return 0;
    case 'n':
        return cli_take_int("last", value, 1, MAX_STATES, &a->last);
    case 'o':
        a->out = value;
        return 0;
    case ARGP_KEY_END:
        if (!a->runs || !a->out) {
            cla_fail(CLA_E_USAGE, "average needs --model DIR and --out DIR (see clattn "
                                  "average --help)");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_average(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Writes a model whose parameters are the means of those of evaluated "
               "states. A run keeps the last N of them under --set keep=N.\v"
               "  clattn train nmt.json --set keep=5 --out runs/m\n"
               "  clattn average --model runs/m --last 5 --out runs/mean",
    };
    arguments a = { 0 };
    cla_averaged done = { 0 };
    cla_status status = cli_parse(&argp, argc, argv, &a);
    status =
        status ? status
               : cla_average(a.run, a.runs, a.last, a.out, cli_catch_signals(), &done);
    if (cli_signal_code()) {
        return cli_signal_code();
    }
    if (status) {
        return cli_fail_data(status);
    }
    fprintf(stderr, "mean of %d states of %lld numbers in %s\n", done.states,
            (long long)done.numbers, a.out);
    return CLI_OK;
}
