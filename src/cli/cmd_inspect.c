/* cmd_inspect.c - clattn inspect: the attention maps of a sentence as a picture. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/safetensors.h"
#include "cli/cli.h"
#include "cli/gnuplot.h"
#include "cli/inspect.h"
#include "cli/model.h"
#include "cli/svg.h"
#include "train/tagging.h"

typedef struct arguments {
    cli_common common;
    const char *model, *text, *out;
} arguments;

static const struct argp_option options[] = {
    { "model", 'm', "DIR", 0, "folder of a training run", 0 },
    { "text", 't', "TEXT", 0, "a sentence, words with blanks between them", 0 },
    { "out", 'o', "FILE", 0,
      ".svg, .png (needs gnuplot), or .safetensors for logits and maps as numbers", 0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->common;
        return 0;
    case 'm':
        a->model = value;
        return 0;
    case 't':
        a->text = value;
        return 0;
    case 'o':
        a->out = value;
        return 0;
    case ARGP_KEY_END:
        if (!a->model || !a->text || !a->out) {
            cla_fail(CLA_E_USAGE, "inspect needs --model, --text and --out "
                                  "(see clattn inspect --help)");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* logits [T,tags] and a tensor map.LAYER.HEAD (and convolved.LAYER.HEAD) [T,T] each. */
static cla_status write_tensors(const char *path, const tagging *t,
                                const tagger_view *view)
{
    const int64_t T = view->maps[0].tokens, tags = t->config.tags;
    const size_t n = (size_t)view->count + 1;
    cla_st_tensor *tensors = NULL;
    char(*names)[32] = NULL;
    cla_status status = cla_alloc(&tensors, n, sizeof *tensors);
    status = status ? status : cla_alloc(&names, n, sizeof *names);
    if (!status) {
        tensors[0] = (cla_st_tensor){ "logits",    CLA_ST_F32, 2,
                                      { T, tags }, T * tags,   view->logits };
        for (int i = 0; i < view->count; i++) {
            const tagger_map *m = &view->maps[i];
            snprintf(names[i], sizeof names[i], "%s.%d.%d",
                     m->convolved ? "convolved" : "map", m->layer, m->head);
            tensors[i + 1] =
                (cla_st_tensor){ names[i], CLA_ST_F32, 2, { T, T }, T * T, m->weight };
        }
        status = cla_st_save(path, tensors, n, NULL);
    }
    free(names);
    free(tensors);
    return status;
}

static cla_status write_svg(const char *path, const char *title,
                            const tagger_view *view, const char *const *tokens)
{
    cla_text picture = { 0 };
    cla_status status = cli_svg_maps(&picture, view->maps, view->count, tokens, title);
    status = status ? status : cla_file_write(path, picture.data, picture.size);
    cla_text_free(&picture);
    return status;
}

static cla_status write_view(const arguments *a, const tagging *t,
                             const tagger_view *view, const char *const *tokens)
{
    if (ends_in(a->out, ".safetensors")) {
        return write_tensors(a->out, t, view);
    }
    return ends_in(a->out, ".png")
               ? cli_gnuplot_maps(a->out, view->maps, view->count, tokens)
               : write_svg(a->out, a->model, view, tokens);
}

/* The sentence as the model sees it: real words only, in one piece. */
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
    cla_status status = tagging_look(t, split, &view);
    status = status ? status : write_view(a, t, &view, tokens);
    tagger_view_free(&view);
    return status;
}

static cla_status inspect_text(const arguments *a, tagging *t)
{
    cla_conllu file = { 0 };
    tagging_split split = { 0 };
    char *text = NULL;
    CLA_TRY(cla_strdup(&text, a->text));
    CLA_TRY(cla_conllu_from_lines(&file, "--text", 0, text, strlen(text)));
    cla_status status = tagging_split_build(t, &split, &file);
    status = status ? status : inspect_split(a, t, &split);
    tagging_split_free(&split);
    return status;
}

static cla_status inspect_task(const arguments *a, cla_task *task)
{
    if (task->kind == &tagging_kind) {
        return inspect_text(a, (tagging *)task);
    }
    if (task->kind != &translation_kind) {
        return cla_fail(CLA_E_USAGE, "inspect draws taggers and translators, not a %s",
                        task->kind->name);
    }
    return ends_in(a->out, ".svg")
               ? cli_inspect_translation((translation *)task, a->text, a->model, a->out)
               : cla_fail(CLA_E_USAGE,
                          "inspect: the maps of a translator are drawn as .svg");
}

static cla_status inspect(const arguments *a)
{
    cli_model m;
    cla_status status = cli_model_open(&m, a->common.device, a->model, NULL, NULL);
    status = status ? status : inspect_task(a, m.task);
    cli_model_close(&m);
    return status;
}

int cli_inspect(int argc, char **argv)
{
    static const struct argp_child children[] = { { &cli_device_argp, 0, NULL, 0 },
                                                  { 0 } };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Draws the attention maps of every layer and head, before and after the "
            "convolution, with the tokens on both axes.\v"
            "  clattn inspect --model runs/t --text 'il ne vient pas' --out maps.svg\n"
            "Of a translator: what the decoder's last layer reads of the source for "
            "each "
            "piece that it says.",
        .children = children,
    };
    arguments a = { 0 };
    cla_status status = cli_parse(&argp, argc, argv, &a);
    status = status ? status : inspect(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
