/* cmd_export.c - clattn export: a model without what only training needs. */
#include "cli/cli.h"
#include "cli/signals.h"
#include "train/export.h"

typedef struct arguments {
    const char *run, *out;
    bool half;
} arguments;

static const cli_option options[] = {
    { "model", 'm', "DIR", "folder of a training run", CLI_TEXT,
      .at = offsetof(arguments, run), .needed = true },
    { "half", 'h', NULL, "store weights as numbers of 16 bits", CLI_FLAG,
      .at = offsetof(arguments, half) },
    { "out", 'o', "DIR", "the new model's folder", CLI_TEXT,
      .at = offsetof(arguments, out), .needed = true },
    { 0 },
};

const cli_usage cli_export_usage = {
    .options = options,
    .about = "Writes a folder with the best state of a run and the files needed to "
             "use it: a third of the run's size, a sixth with --half.",
    .more = "  clattn export --model runs/m --half --out small\n"
            "  clattn translate --model small < test.en",
};

int cli_export(int argc, char **argv)
{
    arguments a = { 0 };
    int64_t numbers = 0;
    cla_status status = cli_read(&cli_export_usage, argc, argv, &a);
    status = status ? status
                    : cla_export(a.run, a.half, a.out, cli_catch_signals(), &numbers);
    return cli_published(status, "%lld numbers in %s", (long long)numbers, a.out);
}
