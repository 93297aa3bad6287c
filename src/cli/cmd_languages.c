/* cmd_languages.c - clattn languages: the languages that a translator has. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/model.h"

typedef struct arguments {
    const char *device, *model;
    bool json;
} arguments;

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_JSON(arguments, json),
    { "model", 'm', "DIR", "folder of a translator", CLI_TEXT,
      .at = offsetof(arguments, model), .needed = true },
    { 0 },
};

const cli_usage cli_languages_usage = {
    .options = options,
    .about =
        "Prints the languages of a translator, a line each: its source, a tab and "
        "a target. A model with several targets takes each for --target of "
        "clattn translate, and one whose source is * takes them for --source, too.",
    .more = "  clattn languages --model opus-en-roa",
};

static cla_status print_one(const arguments *a, const char *source, const char *target)
{
    if (!a->json) {
        printf("%s\t%s\n", source, target);
        return CLA_OK;
    }
    return cli_print_json(json_pack("{s:s,s:s}", "source", source, "target", target));
}

static cla_status print_all(const arguments *a, cla_model *model)
{
    const char *source = "", *target = "", *const *targets = NULL;
    bool any = false;
    size_t count = 0, sources = 0;
    CLA_TRY(cla_model_languages(model, &source, &target, &any));
    CLA_TRY(cla_model_sources(model, &targets, &sources));
    CLA_TRY(cla_model_targets(model, &targets, &count));
    source = sources ? "*" : source;
    CLA_TRY(count ? CLA_OK : print_one(a, source, target));
    for (size_t i = 0; i < count; i++) {
        CLA_TRY(print_one(a, source, targets[i]));
    }
    return CLA_OK;
}

int cli_languages(int argc, char **argv)
{
    arguments a = { 0 };
    cli_model m = { 0 };
    cla_status status = cli_read(&cli_languages_usage, argc, argv, &a);
    status = status ? status
                    : cli_model_open(&m, a.device, a.model, NULL, "translator",
                                     "languages needs a translator");
    status = status ? status : print_all(&a, m.model);
    cli_model_close(&m);
    return status ? cli_fail_data(status) : CLI_OK;
}
