/* cmd_export.c - clattn export: exports a model without its training state. */
#include <string.h>

#include "cli/cli.h"
#include "cli/signals.h"
#include "exchange/export.h"

typedef struct arguments {
    const char *run, *out, *weights;
    bool half;
    cla_export_options options;
} arguments;

static cla_status take_format(void *arguments_, const char *value)
{
    arguments *a = arguments_;
    for (int i = 0; cla_export_formats[i]; i++) {
        if (strcmp(cla_export_formats[i], value) == 0) {
            a->options.format = i;
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_USAGE,
                    "--format is '%s', must be clattn, huggingface or ctranslate2",
                    value);
}

static cla_status check(const void *arguments_)
{
    const arguments *a = arguments_;
    return a->half && a->weights
               ? cla_fail(CLA_E_USAGE, "--half and --weights: one of them")
               : CLA_OK;
}

static const cli_option options[] = {
    { "model", 'm', "DIR", "folder of a training run", CLI_TEXT,
      .at = offsetof(arguments, run), .needed = true },
    { "format", 'f', "FORMAT",
      "clattn (default); huggingface: a translator, a language model; ctranslate2: a "
      "translator",
      CLI_TAKE, .take = take_format, .choices = "clattn huggingface ctranslate2" },
    { "weights", 'W', "BITS",
      "store numbers as float32 or float16, or matrices as int8 (as the run has them)",
      CLI_TEXT, .at = offsetof(arguments, weights), .choices = CLA_WEIGHTS_NAMES },
    { "half", 'h', NULL, "the same as --weights float16", CLI_FLAG,
      .at = offsetof(arguments, half) },
    { "out", 'o', "DIR", "the new model's folder", CLI_TEXT,
      .at = offsetof(arguments, out), .needed = true, .output = CLI_OUT_FOLDER },
    { 0 },
};

const cli_usage cli_export_usage = {
    .options = options,
    .check = check,
    .about =
        "Writes a folder with the best state of a run and the files needed to "
        "use it: a third of the run's size, a sixth as float16, a twelfth as int8.",
    .more = "  clattn export --model runs/m --half --out small\n"
            "  clattn translate --model small < test.en\n"
            "  clattn export --model runs/m --format huggingface --out marian",
};

int cli_export(int argc, char **argv)
{
    arguments a = { 0 };
    int64_t numbers = 0;
    cla_status status = cli_read(&cli_export_usage, argc, argv, &a);
    status =
        status ? status
               : cla_weights_parse(a.half ? "float16" : a.weights, &a.options.weights);
    a.options.signal = cli_catch_signals();
    status = status ? status : cla_export(a.run, &a.options, a.out, &numbers);
    return cli_published(status, "%lld numbers in %s", (long long)numbers, a.out);
}
