/* cmd_inspect.c - clattn inspect: draws and prints the attention of a trained model. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/inspect.h"
#include "cli/model.h"
#include "cli/svg.h"
#include "tasks/language/language.h"
#include "tasks/model.h"
#include "tasks/poetry/poetry.h"
#include "tasks/reading/reading.h"
#include "tasks/tagging/tagging.h"
#include "text/lines.h"

typedef struct arguments {
    const char *device, *model, *out, *passage, *site;
    char *text;
    bool json;
    int characters; // 0: not given
    int64_t seed;   // -1: not given
} arguments;

static const cli_option options[] = {
    CLI_DEVICE(arguments, device),
    CLI_PRECISION,
    CLI_JSON(arguments, json),
    { "model", 'm', "DIR", "folder of a training run", CLI_TEXT,
      .at = offsetof(arguments, model), .needed = true },
    { "text", 't', "TEXT",
      "a sentence, words with blanks between them; a question; what a poem is about",
      CLI_TEXT, .at = offsetof(arguments, text), .needed = true },
    { "out", 'o', "FILE",
      "an .svg file; of taggers and language models .safetensors too, for logits and "
      "maps as numbers",
      CLI_TEXT, .at = offsetof(arguments, out), .output = CLI_OUT_FILE },
    { "passage", 'p', "FILE", "the passage of a reader", CLI_TEXT,
      .at = offsetof(arguments, passage) },
    { "site", 'i', "NAME",
      "which attention to show: of readers and poets one with levels (all); of "
      "translators cross (default), or encoder for its self-attention",
      CLI_TEXT, .at = offsetof(arguments, site) },
    { "chars", 'c', "N", "characters of a poem's line: 5 or 7 (7)", CLI_INT,
      .at = offsetof(arguments, characters), .low = 1, .high = INT32_MAX },
    { "seed", 's', "N", "of keywords that the text does not give (42)", CLI_INT64,
      .at = offsetof(arguments, seed), .low = 0, .high = UINT32_MAX },
    { 0 },
};

/* Refuses a file name with an unknown suffix before the model is loaded. */
static cla_status check_out(const char *out)
{
    return !out || cla_ends_in(out, ".safetensors")
               ? CLA_OK
               : cli_svg_check_name("inspect", out);
}

static cla_status check(const void *arguments_)
{
    const arguments *a = arguments_;
    return check_out(a->out);
}

const cli_usage cli_inspect_usage = {
    .options = options,
    .check = check,
    .about =
        "Draws the attention maps of every layer and head of a tagger or a language "
        "model, before and after the convolution, with the tokens on both axes.",
    .more =
        "  clattn inspect --model runs/t --text 'il ne vient pas' --out maps.svg\n\n"
        "Of a translator: what the decoder's last layer reads of the source for each "
        "piece of the translation, or with --site encoder the encoder's maps. Of "
        "readers and poets: a map for each level of "
        "hierarchical attention, and in print the weight of each level:\n\n"
        "  clattn inspect --model runs/r --passage story.txt --text 'Who came?'\n"
        "  clattn inspect --model runs/p --text 春風明月 --out levels.svg",
};

static cla_status write_view(const arguments *a, const tagging *t,
                             const tagger_view *view, const char *const *tokens)
{
    const inspect_output to = { NULL, a->out, a->model, false };
    return cli_inspect_view(view, t->config.tags, tokens, &to);
}

/* Inspects a sentence, which must be a single chunk for the model. */
static cla_status inspect_split(const arguments *a, tagging *t,
                                const tagging_split *split)
{
    enum { MOST = 1024 };
    tagger_view view = { 0 };
    const char *tokens[MOST];
    const int64_t n = split->tokens;
    if (n > MOST || split->chunk_count != 1) {
        return cla_fail(CLA_E_INPUT,
                        "inspect: %lld words in %zu sentences; one of at most %d "
                        "can be drawn",
                        (long long)n, split->file.sentence_count,
                        t->config.length < MOST ? t->config.length : MOST);
    }
    for (int64_t i = 0; i < n; i++) {
        tokens[i] = split->file.words[i].form;
    }
    cla_status status = cla_tagging_look(t, split, &view);
    status = status ? status : write_view(a, t, &view, tokens);
    cla_tagger_view_free(&view);
    return status;
}

static cla_status inspect_text(const arguments *a, tagging *t)
{
    cla_conllu file = { 0 };
    tagging_split split = { 0 };
    char *text = NULL;
    CLA_TRY(cla_strdup(&text, a->text));
    CLA_TRY(cla_conllu_from_lines(&file, "--text", 0, text, strlen(text)));
    cla_status status = cla_tagging_split_build(t, &split, &file);
    status = status ? status : inspect_split(a, t, &split);
    cla_tagging_split_free(&split);
    return status;
}

/* ---- attention in levels --------------------------------------------------------- */

static cla_status show_levels(const arguments *a, const look_log *seen)
{
    const inspect_output to = { a->site, a->out, a->model, a->json };
    return cli_inspect_levels(seen, &to);
}

static cla_status inspect_reader(const arguments *a, reading *t)
{
    char *passage = NULL;
    size_t size = 0;
    look_log seen = { .sites = 0 };
    CLA_TRY(cla_text_read(&passage, &size, a->passage, CLA_SOURCE_FILE));
    cla_status status = cla_reading_look(t, passage, a->text, &seen);
    status = status ? status : show_levels(a, &seen);
    cla_look_free(&seen);
    free(passage);
    return status;
}

static cla_status inspect_poet(const arguments *a, poetry *t)
{
    const cla_compose_options how = {
        .characters = a->characters ? a->characters : CLA_POEM_LONGEST,
        .beam = 1,
        .seed = a->seed < 0 ? 42 : (uint32_t)a->seed,
    };
    poetry_poem poem = { 0 };
    look_log seen = { .sites = 0 };
    size_t size = strlen(a->text);
    if (how.characters != 5 && how.characters != CLA_POEM_LONGEST) {
        return cla_fail(CLA_E_USAGE, "--chars is %d, must be 5 or 7", how.characters);
    }
    CLA_TRY(cla_line_check("--text", 1, a->text, &size));
    cla_status status = cla_poetry_compose(t, a->text, size, &how, &poem);
    status = status ? status : cla_poetry_look(t, &poem, &seen);
    status = status ? status : show_levels(a, &seen);
    cla_look_free(&seen);
    cla_poetry_poem_free(&poem);
    return status;
}

/* ---- the command ----------------------------------------------------------------- */

/* Refuses options that do not suit the kind of the model. */
static cla_status check_options(const arguments *a, const cla_task_kind *kind)
{
    const bool asked = kind == &cla_reading_kind, writes = kind == &cla_poetry_kind;
    const bool maps = kind == &cla_tagging_kind || kind == &cla_language_kind;
    if (!a->out && !asked && !writes) {
        return cla_fail(CLA_E_USAGE, "inspect: the maps of a %s need --out FILE",
                        kind->name);
    }
    if (a->site && maps) {
        return cla_fail(CLA_E_USAGE,
                        "inspect: --site is for translators, readers and poets, the "
                        "model is a %s",
                        kind->name);
    }
    if (a->json && !asked && !writes) {
        return cla_fail(CLA_E_USAGE,
                        "inspect: --json is for readers and poets, the model is a %s",
                        kind->name);
    }
    if (asked && !a->passage) {
        return cla_fail(CLA_E_USAGE, "inspect: a reader needs --passage FILE");
    }
    if (a->passage && !asked) {
        return cla_fail(CLA_E_USAGE,
                        "inspect: --passage is for readers, the model is "
                        "a %s",
                        kind->name);
    }
    if ((a->characters || a->seed >= 0) && !writes) {
        return cla_fail(CLA_E_USAGE,
                        "inspect: --chars and --seed are for poets, the "
                        "model is a %s",
                        kind->name);
    }
    return maps || !a->out || cla_ends_in(a->out, ".svg")
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "inspect: the maps of a %s are drawn as .svg",
                          kind->name);
}

static cla_status inspect_task(const arguments *a, cla_task *task)
{
    const cla_task_kind *kind = task->kind;
    CLA_TRY(check_options(a, kind));
    if (kind == &cla_tagging_kind) {
        return inspect_text(a, (tagging *)task);
    }
    if (kind == &cla_reading_kind) {
        return inspect_reader(a, (reading *)task);
    }
    if (kind == &cla_poetry_kind) {
        return inspect_poet(a, (poetry *)task);
    }
    const inspect_output to = { a->site, a->out, a->model, false };
    if (kind == &cla_language_kind) {
        return cli_inspect_language((language *)task, a->text, &to);
    }
    return cli_inspect_translation((translation *)task, a->text, &to);
}

static cla_status inspect(const arguments *a)
{
    cli_model m;
    cla_status status = cli_model_open(&m, a->device, a->model, NULL, NULL, NULL);
    status = status ? status : inspect_task(a, cla_model_task(m.model));
    cli_model_close(&m);
    return status;
}

int cli_inspect(int argc, char **argv)
{
    arguments a = { .seed = -1 };
    cla_status status = cli_read(&cli_inspect_usage, argc, argv, &a);
    status = status ? status : inspect(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
