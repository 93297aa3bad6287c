/* cmd_average.c - clattn average: averages the states that runs kept into a model. */
#include "cli/cli.h"
#include "cli/signals.h"
#include "train/average.h"

enum { MAX_RUNS = 64, MAX_STATES = 1 << 20 };

typedef struct arguments {
    const char *run[MAX_RUNS], *out;
    int runs, last;
} arguments;

static cla_status take_run(void *arguments_, const char *value)
{
    arguments *a = arguments_;
    if (a->runs == MAX_RUNS) {
        return cla_fail(CLA_E_USAGE, "--model: more than %d", MAX_RUNS);
    }
    a->run[a->runs++] = value;
    return CLA_OK;
}

static const cli_option options[] = {
    { "model", 'm', "DIR",
      "folder of a training run; several: the states of all of them", CLI_TAKE,
      .at = offsetof(arguments, run), .needed = true, .take = take_run },
    { "last", 'n', "N", "the newest N states of each run (default: all it keeps)",
      CLI_INT, .at = offsetof(arguments, last), .low = 1, .high = MAX_STATES },
    { "out", 'o', "DIR", "the new model's folder", CLI_TEXT,
      .at = offsetof(arguments, out), .needed = true, .output = CLI_OUT_FOLDER },
    { 0 },
};

const cli_usage cli_average_usage = {
    .options = options,
    .about = "Writes a model whose parameters are the means of those of evaluated "
             "states. A run keeps the last N of them under --set keep=N.",
    .more = "  clattn train nmt.json --set keep=5 --out runs/m\n"
            "  clattn average --model runs/m --last 5 --out runs/mean",
};

int cli_average(int argc, char **argv)
{
    arguments a = { 0 };
    cla_averaged done = { 0 };
    cla_status status = cli_read(&cli_average_usage, argc, argv, &a);
    status =
        status ? status
               : cla_average(a.run, a.runs, a.last, a.out, cli_catch_signals(), &done);
    return cli_published(status, "mean of %d states of %lld numbers in %s", done.states,
                         (long long)done.numbers, a.out);
}
